package mta

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/sendmail"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter"
)

// A judgement takes longer than the mail servers wait for an answer. Meanwhile they receive
// progress packets every ten seconds. Sendmail's timeout E, from the end of a mail to its
// last answer, is not extended by progress, as a test with E:16s showed.
const (
	slowJudgement = 20 * time.Second
	slowTimeout   = "16s"
)

// slowLog is a log that blocks.
type slowLog struct{ slog.Handler }

func (l slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (l slowLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "count not written to disk" {
		time.Sleep(slowJudgement)
	}
	return nil
}

// startSlow runs a milter that is slow for the first message: its database is closed, and
// the log that reports this while the message is judged blocks.
func startSlow(t *testing.T, network string) milterAddress {
	t.Helper()
	db, err := bloomdb.Open(bloomdb.Options{
		Dir: t.TempDir(), Site: "one",
		Counts:  bloomdb.CountOptions{Capacity: 1000},
		Reports: bloomdb.ReportOptions{Capacity: 1000},
	})
	testenv.Check(t, err)
	testenv.Check(t, db.Close())
	address := newMilterAddress(t, network)
	ln, err := net.Listen(strings.Replace(network, "inet", "tcp", 1), address.address)
	testenv.Check(t, err)
	if network == "unix" { // Postfix' smtpd connects as its own user
		testenv.Check(t, os.Chmod(address.address, 0o666))
	}
	server := milter.NewServer(db, milter.Options{Site: "one", JudgeTimeout: 10 * testenv.Patience, Log: slog.New(slowLog{slog.DiscardHandler})})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve("slow", ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return address
}

func TestSlowMilter(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"unix", "inet"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			sendSlowly(t, network)
		})
	}
}

// sendSlowly sends a mail through both mail servers at the same time.
func sendSlowly(t *testing.T, network string) {
	t.Helper()
	p, s := harness.NewPostfix(t), sendmail.New(t)
	p.Extra = "milter_content_timeout = " + slowTimeout + "\n"
	p.Start("slow", startSlow(t, network).postfix(), "n")
	s.Defines = []string{"-DTEST_TIMEOUTS=C:10s;S:30s;R:" + slowTimeout + ";E:5m"}
	s.Start(startSlow(t, network).String())

	servers := map[string]func() []string{
		p.Addr:                func() []string { return filesBelow(t, filepath.Join(p.Dir, "mail/box/new")) },
		testenv.Local(s.Port): func() []string { return filesBelow(t, s.Maildir) },
	}
	dialogues := map[string]*smtpDialogue{}
	began := time.Now()
	for address := range servers {
		d, err := dialSMTP("127.0.0.1", address)
		testenv.Check(t, err)
		defer d.close()
		if ready, err := d.begin(envelope{from: "someone@example.net", rcpts: []string{"you@example.test"}}); err != nil || !ready {
			t.Fatalf("%s: %q %v", address, d.replies, err)
		}
		if _, err := d.conn.Write([]byte(harness.Message(harness.Text()) + ".\r\n")); err != nil {
			t.Fatal(err)
		}
		dialogues[address] = d
	}
	for address, d := range dialogues {
		if reply, err := d.answer(); err != nil || !strings.HasPrefix(reply, "250 ") {
			t.Errorf("%s: %q %v", address, reply, err)
		}
		if took := time.Since(began); took < slowJudgement {
			t.Errorf("%s: the judgement took %v only", address, took)
		}
		var files []string
		testenv.Eventually(t, "the mail is delivered", func() bool { files = servers[address](); return len(files) == 1 })
		text, err := os.ReadFile(files[0])
		testenv.Check(t, err)
		if !strings.Contains(string(text), "X-Spambloom: clean; ") {
			t.Errorf("%s did not wait:\n%s", address, text)
		}
	}
}
