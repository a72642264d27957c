package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// tokenLine is the header field by which a mail is told from all others.
var tokenLine = regexp.MustCompile(`(?m)^X-Test: (\w+)\r?$`)

// pour hands n mails over by SMTP, in that many sessions at once with up to five
// mails each, and waits pause between two of a session. It returns the tokens of
// those that were taken.
func (p *postfix) pour(n, sessions int, pause time.Duration) (tokens []string) {
	var mu sync.Mutex
	var pouring sync.WaitGroup
	for session := range sessions {
		pouring.Go(func() {
			var c *smtp.Client
			for i := session; i < n; i += sessions {
				token := fmt.Sprintf("n%d", i)
				if c == nil {
					var err error
					if c, err = smtp.Dial(p.addr); err != nil {
						p.t.Error(err)
						return
					}
				}
				mail := message(text(), "X-Test: "+token)
				if err := c.SendMail("someone@example.net", []string{"you@example.test"}, strings.NewReader(mail)); err != nil {
					p.t.Error(err)
				} else {
					mu.Lock()
					tokens = append(tokens, token)
					mu.Unlock()
				}
				if i/sessions%5 == 4 {
					c.Quit() // the mail is taken already
					c = nil
				}
				time.Sleep(pause)
			}
			if c != nil {
				c.Quit()
			}
		})
	}
	pouring.Wait()
	return tokens
}

// arrived counts the copies of each mail in the Maildir, and those without a
// verdict.
func (p *postfix) arrived() (copies map[string]int, unjudged int) {
	p.t.Helper()
	copies = map[string]int{}
	files, err := filepath.Glob(filepath.Join(p.dir, "mail/box/new/*"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			p.t.Fatal(err)
		}
		head, err := io.ReadAll(io.LimitReader(f, 8<<10))
		f.Close()
		if err != nil {
			p.t.Fatal(err)
		}
		if token := tokenLine.FindSubmatch(head); token != nil {
			copies[string(token[1])]++
		}
		if strings.Count(string(head), "\nX-Spambloom: ")+strings.Count(string(head[:min(13, len(head))]), "X-Spambloom: ") != 1 {
			unjudged++
		}
	}
	return copies, unjudged
}

// expectOnce waits until each mail is there, and fails if one is there twice. Two may
// still lie in the queue of who sends them.
func (p *postfix) expectOnce(tokens []string, patience time.Duration, senders ...*postfix) {
	p.t.Helper()
	var copies map[string]int
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		copies, _ = p.arrived()
		if len(copies) >= len(tokens) || time.Now().After(end) {
			break
		}
	}
	lost, twice := 0, 0
	for _, token := range tokens {
		switch copies[token] {
		case 0:
			lost++
		case 1:
		default:
			twice++
		}
	}
	held := 0
	for _, s := range senders {
		held += s.held()
	}
	if lost > min(held, 2) || twice > 0 {
		p.t.Errorf("of %d mails that were taken, %d have not arrived, %d are held by who sends them, and %d came more than once", len(tokens), lost, held, twice)
	}
}

// held is how many mails are in the queue. One that the queue manager found locked
// ("skipped, still being delivered") it takes up at its next start only.
func (p *postfix) held() (n int) {
	p.t.Helper()
	for _, pattern := range []string{"incoming/*", "active/*", "deferred/*/*"} {
		files, err := filepath.Glob(filepath.Join(p.dir, "spool", pattern))
		if err != nil {
			p.t.Fatal(err)
		}
		n += len(files)
	}
	return n
}

// relaying makes an instance that keeps mail in its queue and tries again soon,
// as long as the next one does not take it.
func relaying(t *testing.T, to *postfix) *postfix {
	t.Helper()
	p := newPostfix(t)
	p.extra = `
relayhost = [` + strings.Replace(to.addr, ":", "]:", 1) + `
virtual_mailbox_domains =
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_milters =
minimal_backoff_time = 1s
maximal_backoff_time = 2s
queue_run_delay = 1s
default_destination_concurrency_failed_cohort_limit = 1000
`
	p.services = "smtp unix - - n - - smtp\n"
	return p.start("relay", "inet:127.0.0.1:1", "n")
}

// Restarts lose no mail: the MTA in front holds what is not taken. The daemon is
// stopped and killed in turn while mail flows; every mail arrives once, and none
// without a verdict.
func TestRestartsLoseNoMail(t *testing.T) {
	t.Parallel()
	mails, restarts := 150, 6
	if soak {
		mails, restarts = 3000, 60
	}
	var pouring sync.WaitGroup
	t.Cleanup(pouring.Wait) // after the MTAs have stopped, which ends it
	s, p := unixSite(t, "one")
	s.start()
	p.extra = "\nsmtpd_milters = { unix:spambloom/milter.sock, default_action=tempfail }\n"
	p.start("one", "", "n")
	relay := relaying(t, p)

	poured := make(chan []string, 1)
	pouring.Go(func() { poured <- relay.pour(mails, 5, 50*time.Millisecond) })
	for i := range restarts {
		signal, want := syscall.SIGTERM, 0
		if i%2 == 1 {
			signal, want = syscall.SIGKILL, -1
		}
		seen := strings.Count(s.log(), `"msg":"message"`)
		eventually(t, "mail flows", func() bool { return strings.Count(s.log(), `"msg":"message"`) > seen+2 || len(poured) > 0 })
		if code := s.stop(signal); code != want {
			t.Errorf("ended with %d, want %d\n%s", code, want, s.log())
		}
		s.start()
	}
	p.expectOnce(<-poured, 4*patience, relay)
	copies, unjudged := p.arrived()
	if unjudged > 0 {
		t.Errorf("%d mails have no verdict", unjudged)
	}
	deferred := strings.Count(relay.log(), "status=deferred")
	if deferred == 0 {
		t.Error("no mail met a restart: this shows nothing")
	}
	t.Logf("%d restarts, every second by kill -9: %d mails arrived, %d without a verdict, after %d deferrals", restarts, len(copies), unjudged, deferred)
}

// unixSite is a daemon with a unix socket below the spool of a Postfix that is yet
// to start.
func unixSite(t *testing.T, name string) (*site, *postfix) {
	t.Helper()
	p := newPostfix(t)
	dir := filepath.Join(p.dir, "spool", "spambloom")
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 0, groupID(t, "postfix")); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, name, filepath.Join(folder(t), "key"), "")
	s.configure(t, `listen = ["inet:0@127.0.0.1"]`, fmt.Sprintf("listen = [%q]", "unix:"+filepath.Join(dir, "milter.sock")))
	s.configure(t, "[log]", "[control]\ngroup = \"postfix\"\n[log]")
	return s, p
}

// A reload in the middle of traffic drops no message and answers none twice.
func TestReloadsUnderTraffic(t *testing.T) {
	t.Parallel()
	s := newSite(t, "one", filepath.Join(folder(t), "key"), "").start()
	p := startPostfix(t, "one", s.milter)
	const direct, each, throughPostfix = 4, 60, 40
	var traffic sync.WaitGroup
	for range direct {
		traffic.Go(func() { deliverAll(t, s.milter, each) })
	}
	var tokens []string
	traffic.Go(func() { tokens = p.pour(throughPostfix, 4, 0) })
	flowed := make(chan struct{})
	go func() { traffic.Wait(); close(flowed) }()

	reloads := 0
	for running := true; running; {
		select {
		case <-flowed:
			running = false
		default:
		}
		from, to := "threshold = 50", "threshold = 49"
		if reloads%2 == 1 {
			from, to = to, from
		}
		s.configure(t, from, to)
		s.reload(t, `"reloaded"`)
		reloads++
	}
	p.expectOnce(tokens, patience)
	if _, unjudged := p.arrived(); unjudged > 0 {
		t.Errorf("%d mails have no verdict", unjudged)
	}
	if n := strings.Count(s.log(), `"msg":"message"`); n != direct*each+len(tokens) {
		t.Errorf("%d lines in the log for %d messages", n, direct*each+len(tokens))
	}
	t.Logf("%d reloads, %d messages", reloads, direct*each+len(tokens))
}

// deliverAll sends n mails on one connection and wants a verdict on each. An
// answer too many would be taken for that of the next mail, which has no header.
func deliverAll(t *testing.T, addr string, n int) {
	m, err := dialMilter("tcp", addr, "192.0.2.1")
	if err != nil {
		t.Error(err)
		return
	}
	defer m.Close()
	for range n {
		if err := m.begin(newParcel([]byte(message(text())))); err != nil {
			t.Error(err)
			return
		}
		final, added, err := m.end()
		if err != nil || final != 'c' && final != 'a' || !strings.Contains(strings.Join(added, " "), "X-Spambloom\x00clean;") {
			t.Errorf("answer %q %q, %v", final, added, err)
			return
		}
	}
	if m.in.Buffered() > 0 {
		t.Error("an answer too many")
	}
}
