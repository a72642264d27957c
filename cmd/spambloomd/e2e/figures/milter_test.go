//go:build figures

package figures

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// figureSite is a daemon with its defaults, except that no client is local.
func figureSite(t *testing.T) (s *harness.Site, tcp, unix *target) {
	t.Helper()
	dir := testenv.Dir(t)
	path := filepath.Join(dir, "milter.sock")
	harness.Write(t, filepath.Join(dir, "spambloom.toml"), fmt.Sprintf(`
[site]
name = "mx1"
[milter]
listen = ["inet:0@127.0.0.1", "unix:%s"]
socket_mode = "0666"
local_networks = []
[http]
listen = ""
[log]
format = "json"
`, path))
	s = &harness.Site{T: t, Dir: dir, Name: "mx1", Control: "unix:" + filepath.Join(dir, "state", "spambloom.sock")}
	s.Start()
	pid := s.Cmd.Process.Pid
	return s, &target{name: "spambloom", network: "tcp", addr: s.Milter, pid: pid}, &target{name: "spambloom", network: "unix", addr: path, pid: pid}
}

// The figures of contrib/benchmarks.md for the milter's socket.
func TestMilterFigures(t *testing.T) {
	logLoad(t)
	parcels := corpusParcels(t)
	s, tcp, unix := figureSite(t)
	tcp.load(t, parcels, 2, 3*time.Second) // warm-up
	var table strings.Builder
	fmt.Fprintln(&table, "| connections | socket | messages/s | MB/s | p50 ms | p99 ms | p99.9 ms | CPU ms a message |\n|---|---|---|---|---|---|---|---|")
	for _, n := range []int{1, 20, 200} {
		for _, g := range []*target{tcp, unix} {
			l := g.load(t, parcels, n, 10*time.Second)
			fmt.Fprintf(&table, "| %d | %s | %.0f | %.1f | %.2f | %.2f | %.1f | %.3f |\n", n, g.network,
				l.perSecond(), float64(l.bytes)/1e6/l.wall.Seconds(), l.at(0.5), l.at(0.99), l.at(0.999), l.cpuMessage())
		}
	}
	t.Logf("the time is from the end of message to the answer; CPU is the daemon's alone\n%s", &table)
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.Log())
	}
}

func corpusParcels(t *testing.T) (parcels []*harness.Parcel) {
	t.Helper()
	for _, mail := range corpusMail(t) {
		parcels = append(parcels, harness.NewParcel(mail))
	}
	return parcels
}

// The same mail through one Postfix, without a milter and with each, alternately in both
// orders so that drift cancels out. Postfix stores the mail in its queue on disk, and then
// discards it. An idle milter shows the cost of a milter to Postfix itself.
func TestPostfixFigures(t *testing.T) {
	logLoad(t)
	mails := corpusMail(t)
	for i, mail := range mails {
		mail = bytes.ReplaceAll(mail, []byte("\r\n"), []byte("\n"))
		mails[i] = bytes.ReplaceAll(mail, []byte("\n"), []byte("\r\n"))
	}
	_, tcp, unix := figureSite(t)
	ways := []way{{name: "no milter"}, {name: "spambloom, tcp", target: tcp}, {name: "spambloom, unix", target: unix}, {name: "idle milter", target: idleMilter(t)}}
	if theirs := startRspamd(t); theirs != nil {
		ways = append(ways, way{name: "rspamd", target: theirs})
	}
	p := harness.NewPostfix(t)
	// Mail that arrives faster than it is delivered is not delayed for a second each.
	p.Extra = "\nsmtpd_milters =\nvirtual_transport = discard:\nin_flow_delay = 0\n"
	p.Services = "discard unix - - n - - discard\n"
	for i := range ways {
		port := testenv.Port(t)
		ways[i].addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		p.Services += fmt.Sprintf("%s inet n - n - - smtpd\n", ways[i].addr)
		if g := ways[i].target; g != nil {
			p.Services += fmt.Sprintf("  -o smtpd_milters=%s:%s\n", map[string]string{"tcp": "inet", "unix": "unix"}[g.network], g.addr)
		}
	}
	p.Start("one", "", "n")

	compare(p, t, slices.Clone(ways), mails, 1, 10)
	compare(p, t, slices.Clone(ways), mails, 20, 30) // the disk makes them differ more
}

// compare sends the same mail every way, with the given number of SMTP sessions. With one
// session the processors are idle while Postfix waits for the disk, with twenty they are
// not.
func compare(p *harness.Postfix, t *testing.T, ways []way, mails [][]byte, sessions, rounds int) {
	t.Helper()
	const mailsEach = 400
	for _, w := range ways {
		w.send(t, mails[:100], sessions) // warm-up
	}
	measure(p, t, ways)
	for round := range rounds {
		some := mails[round*mailsEach%(len(mails)-mailsEach):][:mailsEach]
		for i := range ways {
			if round%2 == 1 {
				i = len(ways) - 1 - i
			}
			ways[i].send(t, some, sessions)
			testenv.Eventually(t, "the queue is empty", p.Idle)
		}
	}
	for _, w := range ways[1:] {
		var slower ratios
		for i, rate := range w.rates {
			slower = append(slower, rate/ways[0].rates[i])
		}
		t.Logf("%s: %s of the messages/s without a milter", w.name, slower)
	}
	t.Logf("%d sessions:\n%s", sessions, table(ways))
}

// way is an smtpd with a milter, or without, and its measurements.
type way struct {
	name, addr string
	target     *target
	rates, cpu []float64 // messages/s; ms a message

	postfix    int       // process id of its master; 0: not measured yet
	postfixCPU []float64 // ms a message, of all its processes
}

// measured reports whether the milter is a separate process.
func (w *way) measured() bool { return w.target != nil && w.target.pid != 0 }

// measure enables reading the processor time of Postfix, too.
func measure(p *harness.Postfix, t *testing.T, ways []way) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Dir, "spool/pid/master.pid"))
	testenv.Check(t, err)
	master, err := strconv.Atoi(strings.TrimSpace(string(text)))
	testenv.Check(t, err)
	for i := range ways {
		ways[i].postfix = master
	}
}

// table contains the medians of all ways.
func table(ways []way) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| milter | messages/s | Postfix: CPU ms a message | milter: CPU ms a message |\n|---|---|---|---|")
	for _, w := range ways {
		cpu := ""
		if w.measured() {
			cpu = fmt.Sprintf("%.2f", ratios(w.cpu).median())
		}
		fmt.Fprintf(&b, "| %s | %.0f | %.2f | %s |\n", w.name, ratios(w.rates).median(), ratios(w.postfixCPU).median(), cpu)
	}
	return b.String()
}

// send sends the mails in that many sessions, each of which stays open.
func (w *way) send(t *testing.T, mails [][]byte, sessions int) {
	t.Helper()
	spent := func() (milter, postfix time.Duration) {
		if w.measured() {
			milter = processTime(t, w.target.pid)
		}
		if w.postfix != 0 {
			postfix = processTime(t, w.postfix)
		}
		return milter, postfix
	}
	milter, postfix := spent()
	var next atomic.Int64
	var sending sync.WaitGroup
	begun := time.Now()
	for range sessions {
		sending.Go(func() {
			c, err := smtp.Dial(w.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for i := int(next.Add(1)) - 1; i < len(mails); i = int(next.Add(1)) - 1 {
				if err := c.SendMail("sender@example.net", []string{"you@example.test"}, bytes.NewReader(mails[i])); err != nil {
					t.Errorf("%s: %v", w.name, err)
					return
				}
			}
		})
	}
	sending.Wait()
	if t.Failed() {
		t.FailNow()
	}
	w.rates = append(w.rates, float64(len(mails))/time.Since(begun).Seconds())
	milterNow, postfixNow := spent()
	w.cpu = append(w.cpu, milliseconds(milterNow-milter)/float64(len(mails)))
	w.postfixCPU = append(w.postfixCPU, milliseconds(postfixNow-postfix)/float64(len(mails)))
}

// idleMilter performs our dialogue with the MTA without any work, which shows the basic
// cost of a milter to Postfix. It runs in this process. On TCP it would wait for delayed
// acknowledgements, with 22 messages/s in one session.
func idleMilter(t *testing.T) *target {
	t.Helper()
	path := filepath.Join(testenv.Dir(t), "idle.sock")
	ln, err := net.Listen("unix", path)
	testenv.Check(t, err)
	testenv.Check(t, os.Chmod(path, 0o666))
	var serving sync.WaitGroup
	serving.Go(func() {
		for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
			serving.Go(func() { idleSession(conn) })
		}
	})
	t.Cleanup(func() { ln.Close(); serving.Wait() })
	return &target{name: "idle", network: "unix", addr: path}
}

// idleSession ends with the MTA's connection.
func idleSession(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	accept := append(harness.MilterPacket('i', "\x00\x00\x00\x00X-Idle\x00yes\x00"), harness.MilterPacket('c')...)
	for {
		var head [5]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		if _, err := in.Discard(int(binary.BigEndian.Uint32(head[:4])) - 1); err != nil {
			return
		}
		var answer []byte
		switch head[4] {
		case 'O':
			answer = harness.MilterPacket('O', "\x00\x00\x00\x06", "\x00\x00\x00\x31", "\x00\x0c\xf7\x80")
		case 'E':
			answer = accept
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}
