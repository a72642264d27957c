package milter

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gomilter "github.com/emersion/go-milter"
	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

// corpus unpacks and splits the mail.
func corpus(b *testing.B) (mails []signature.Message) {
	b.Helper()
	testenv.Program(b, "xz")
	dir := b.TempDir()
	if out, err := exec.Command("tar", "-xJf", testenv.Corpus(b, "..", "spamassassin.tar.xz"), "-C", dir).CombinedOutput(); err != nil {
		b.Fatalf("unpack the corpus: %v: %s", err, out)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		mails = append(mails, signature.Parse(raw))
		return err
	})
	if err != nil || len(mails) == 0 {
		b.Fatalf("corpus of %d mails: %v", len(mails), err)
	}
	return mails
}

// BenchmarkServer sends the corpus through the socket repeatedly, like Postfix: all
// protocol flags offered, one recipient. It reports messages per second, including the
// client's work, and the time from end of message to the answer.
func BenchmarkServer(b *testing.B) {
	mails := corpus(b)
	for _, network := range []string{"tcp", "unix"} {
		for _, conns := range []int{1, 2, 20} {
			b.Run(fmt.Sprintf("%s/conns=%d", network, conns), func(b *testing.B) {
				addr := serveBench(b, network)
				clients := make([]*mta, conns)
				for i := range clients {
					clients[i] = dial(b, network, addr, offerAll, "192.0.2.1")
				}
				took := make([]time.Duration, b.N)
				var next atomic.Int64
				var wg sync.WaitGroup
				b.ReportAllocs()
				b.ResetTimer()
				for _, c := range clients {
					wg.Go(func() {
						for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
							var err error
							if took[i], err = c.deliver(mails[i%len(mails)]); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				slices.Sort(took)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
				b.ReportMetric(float64(took[b.N/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[b.N*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	}
}

// serveBench serves with a real database that does its periodic work.
func serveBench(b *testing.B, network string) (addr string) {
	b.Helper()
	db, err := bloomdb.Open(bloomdb.Options{Dir: b.TempDir(), Site: "mx1"})
	testenv.Check(b, err)
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- db.Run(ctx) }()

	addr = "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(b.TempDir(), "milter.sock")
	}
	ln, err := net.Listen(network, addr)
	testenv.Check(b, err)
	s := NewServer(db, Options{Site: "mx1", Policy: policy.Policy{BulkThreshold: 20}, Log: slog.New(slog.NewJSONHandler(fileLog(b), nil))})
	served := make(chan error, 1)
	go func() { served <- s.Serve("", ln) }()
	b.Cleanup(func() {
		stop()
		for _, err := range []error{s.Shutdown(context.Background()), <-served, <-ran, db.Close()} {
			if err != nil {
				b.Error(err)
			}
		}
	})
	return ln.Addr().String()
}

func fileLog(b *testing.B) *os.File {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	testenv.Check(b, err)
	b.Cleanup(func() { f.Close() })
	return f
}

// deliver sends a message and returns the time from its end to the answer.
func (m *mta) deliver(msg signature.Message) (time.Duration, error) {
	var failure error
	step := func(a *gomilter.Action, err error) {
		if failure == nil && err == nil && a.Code != gomilter.ActContinue {
			err = fmt.Errorf("answer %q before end of message", a.Code)
		}
		failure = cmp.Or(failure, err)
	}
	failure = m.Macros(gomilter.CodeMail, "i", "4QX")
	step(m.Mail("sender@example.org", nil))
	step(m.Rcpt("recipient@example.org", nil))
	for _, f := range msg.Header {
		step(m.HeaderField(f.Name, f.Value))
	}
	step(m.HeaderEnd())
	for chunk := range slices.Chunk(msg.Body, gomilter.MaxBodyChunk) {
		step(m.BodyChunk(chunk))
	}
	begun := time.Now()
	_, _, err := m.End()
	return time.Since(begun), cmp.Or(failure, err)
}
