//go:build figures

package figures

// The measured program is separate and built as for production: without the race detector,
// with its state on disk. This process generates the load, and its processor time is
// measured separately.

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// logLoad logs the other load of the machine. Figures of a busy machine mean little.
func logLoad(t *testing.T) {
	t.Helper()
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Skipf("no Linux: %v", err)
	}
	t.Logf("load at the begin: %s", load)
}

// corpusMail returns the mail of the archive named by SPAMBLOOM_CORPUS, always in the same
// order. It is not part of the repository.
func corpusMail(t *testing.T) (mails [][]byte) {
	t.Helper()
	archive := os.Getenv("SPAMBLOOM_CORPUS")
	if archive == "" {
		archive = harness.Repository + "/../shared/corpora/spamassassin.tar.xz"
	}
	if _, err := os.Stat(archive); err != nil {
		t.Skipf("no corpus: %v (SPAMBLOOM_CORPUS names a .tar.xz of mails)", err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-xJf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Skipf("corpus cannot be unpacked: %v: %s", err, out)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		mail, err := os.ReadFile(path)
		if bytes.HasPrefix(mail, []byte("From ")) { // separator of an mbox
			_, mail, _ = bytes.Cut(mail, []byte("\n"))
		}
		mails = append(mails, mail)
		return err
	})
	if err != nil || len(mails) == 0 {
		t.Fatalf("corpus of %d mails: %v", len(mails), err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(mails), func(i, j int) { mails[i], mails[j] = mails[j], mails[i] })
	return mails
}

// processTime returns the processor time of a process and its children, including ended
// ones that were waited for. Its resolution is a hundredth of a second.
func processTime(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	children := map[int][]int{}
	ticks := map[int]int{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	testenv.Check(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		behindName := strings.LastIndexByte(string(text), ')')
		if err != nil || behindName < 0 {
			t.Fatalf("%s: %s", file, text)
		}
		f := strings.Fields(string(text[behindName+1:])) // f[0] is field 3 of proc(5)
		parent, _ := strconv.Atoi(f[1])
		children[parent] = append(children[parent], id)
		for _, field := range f[11:15] { // utime, stime, cutime, cstime
			n, _ := strconv.Atoi(field)
			ticks[id] += n
		}
	}
	for all := []int{pid}; len(all) > 0; all = all[1:] {
		sum += time.Duration(ticks[all[0]]) * 10 * time.Millisecond // USER_HZ is 100
		all = append(all, children[all[0]]...)
	}
	return sum
}

// loaded is the result of a load.
type loaded struct {
	messages int
	bytes    int64
	wall     time.Duration
	cpu      time.Duration   // of the measured program
	took     []time.Duration // from the end of message to the answer, ascending
}

func (l loaded) perSecond() float64 { return float64(l.messages) / l.wall.Seconds() }

func (l loaded) perCPUSecond() float64 { return float64(l.messages) / l.cpu.Seconds() }

func (l loaded) cpuMessage() float64 { return milliseconds(l.cpu) / float64(l.messages) }

func (l loaded) at(q float64) float64 { return milliseconds(l.took[int(q*float64(len(l.took)))]) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// target is a measured milter.
type target struct {
	name, network, addr string
	pid                 int
	next                atomic.Int64 // of the mails
}

// load sends mail after mail to a milter over n connections for the given time. Before it
// begins, each connection has sent one.
func (g *target) load(t *testing.T, parcels []*harness.Parcel, n int, long time.Duration) (l loaded) {
	t.Helper()
	conns := make([]*harness.MilterConn, n)
	for i := range conns {
		m, err := harness.DialMilter(g.network, g.addr, "192.0.2.1")
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		defer m.Close()
		conns[i] = m
	}
	g.run(t, conns, parcels, 0)
	cpu, begun := processTime(t, g.pid), time.Now()
	took, size := g.run(t, conns, parcels, long)
	l.wall, l.cpu = time.Since(begun), processTime(t, g.pid)-cpu
	for _, each := range took {
		l.took = append(l.took, each...)
	}
	slices.Sort(l.took)
	l.messages, l.bytes = len(l.took), size
	return l
}

// run continues for the given time, with at least one mail per connection.
func (g *target) run(t *testing.T, conns []*harness.MilterConn, parcels []*harness.Parcel, long time.Duration) (took [][]time.Duration, size int64) {
	t.Helper()
	end := time.Now().Add(long)
	took = make([][]time.Duration, len(conns))
	var sum atomic.Int64
	var sending sync.WaitGroup
	for i, m := range conns {
		sending.Go(func() {
			for {
				p := parcels[int(g.next.Add(1))%len(parcels)]
				final, d, err := deliver(m, p)
				if err != nil || final == 't' {
					t.Errorf("%s: answer %q, %v", g.name, final, err)
					return
				}
				took[i] = append(took[i], d)
				sum.Add(int64(p.Size))
				if time.Now().After(end) {
					return
				}
			}
		})
	}
	sending.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return took, sum.Load()
}

// deliver sends a mail and returns the time of the final answer.
func deliver(m *harness.MilterConn, p *harness.Parcel) (final byte, took time.Duration, err error) {
	if err := m.Begin(p); err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	final, _, err = m.End()
	return final, time.Since(begun), err
}

// ratios are the results of paired measurements.
type ratios []float64

// String returns the median with the minimum and the maximum.
func (r ratios) String() string {
	r = slices.Clone(r)
	slices.Sort(r)
	return fmt.Sprintf("%.3f (%.3f to %.3f, %d pairs)", r.median(), r[0], r[len(r)-1], len(r))
}

func (r ratios) median() float64 {
	r = slices.Clone(r)
	slices.Sort(r)
	n := len(r)
	return (r[(n-1)/2] + r[n/2]) / 2
}
