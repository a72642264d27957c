package life

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// tokenLine is the header field that identifies a mail.
var tokenLine = regexp.MustCompile(`(?m)^X-Test: (\w+)\r?$`)

// pour sends n mails by SMTP in parallel sessions with up to five mails each, and waits
// pause between two mails of a session. It returns the tokens of the accepted mails.
func pour(p *harness.Postfix, n, sessions int, pause time.Duration) (tokens []string) {
	var mu sync.Mutex
	var pouring sync.WaitGroup
	for session := range sessions {
		pouring.Go(func() {
			var c *smtp.Client
			for i := session; i < n; i += sessions {
				token := fmt.Sprintf("n%d", i)
				if c == nil {
					var err error
					if c, err = smtp.Dial(p.Addr); err != nil {
						p.T.Error(err)
						return
					}
				}
				mail := harness.Message(harness.Text(), "X-Test: "+token)
				if err := c.SendMail("someone@example.net", []string{"you@example.test"}, strings.NewReader(mail)); err != nil {
					p.T.Error(err)
				} else {
					mu.Lock()
					tokens = append(tokens, token)
					mu.Unlock()
				}
				if i/sessions%5 == 4 {
					c.Quit() // the mail was already accepted
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

// arrived counts the copies of each mail in the Maildir, and those without a verdict.
func arrived(p *harness.Postfix) (copies map[string]int, unjudged int) {
	p.T.Helper()
	copies = map[string]int{}
	files, err := filepath.Glob(filepath.Join(p.Dir, "mail/box/new/*"))
	if err != nil {
		p.T.Fatal(err)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			p.T.Fatal(err)
		}
		head, err := io.ReadAll(io.LimitReader(f, 8<<10))
		f.Close()
		if err != nil {
			p.T.Fatal(err)
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

// expectOnce checks that each mail arrived exactly once.
func expectOnce(p *harness.Postfix, tokens []string) {
	p.T.Helper()
	copies, _ := arrived(p)
	for _, token := range tokens {
		if n := copies[token]; n != 1 {
			p.T.Errorf("mail %s was accepted and arrived %d times", token, n)
		}
	}
}

// haveArrived reports whether each mail has arrived.
func haveArrived(p *harness.Postfix, tokens []string) bool {
	copies, _ := arrived(p)
	return !slices.ContainsFunc(tokens, func(token string) bool { return copies[token] == 0 })
}

// Restarts lose no mail: the MTA in front keeps mail that is not accepted. The daemon is
// stopped and killed alternately while mail flows. Every mail arrives once, and with a
// verdict.
func TestRestartsLoseNoMail(t *testing.T) {
	t.Parallel()
	mails, restarts := 150, 6
	if testenv.Soak() {
		mails, restarts = 3000, 60
	}
	var pouring sync.WaitGroup
	t.Cleanup(pouring.Wait) // after the MTAs have stopped, which ends it
	s, p := harness.UnixSite(t, "one")
	s.Start()
	p.Extra = "\nsmtpd_milters = { unix:spambloom/milter.sock, default_action=tempfail }\n"
	p.Start("one", "", "n")
	relay := harness.Relaying(t, p)

	poured := make(chan []string, 1)
	pouring.Go(func() { poured <- pour(relay, mails, 5, 50*time.Millisecond) })
	for i := range restarts {
		signal, want := syscall.SIGTERM, 0
		if i%2 == 1 {
			signal, want = syscall.SIGKILL, -1
		}
		seen := strings.Count(s.Log(), `"msg":"message"`)
		testenv.Eventually(t, "mail flows", func() bool { return strings.Count(s.Log(), `"msg":"message"`) > seen+2 || len(poured) > 0 })
		if code := s.Stop(signal); code != want {
			t.Errorf("ended with %d, want %d\n%s", code, want, s.Log())
		}
		s.Start()
	}
	tokens := <-poured
	relay.Drive("all mail arrives", func() bool { return haveArrived(p, tokens) })
	testenv.Eventually(t, "no mail is left in the queue", func() bool { return relay.Queued() == 0 }) // a second copy would be
	expectOnce(p, tokens)
	copies, unjudged := arrived(p)
	if unjudged > 0 {
		t.Errorf("%d mails have no verdict", unjudged)
	}
	deferred := strings.Count(relay.Log(), "status=deferred")
	if deferred == 0 {
		t.Error("no mail met a restart, so the test shows nothing")
	}
	t.Logf("%d restarts, every second by kill -9: %d mails arrived, %d without a verdict, after %d deferrals", restarts, len(copies), unjudged, deferred)
}

// A reload during traffic loses no message and answers none twice.
func TestReloadsUnderTraffic(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	p := harness.StartPostfix(t, "one", s.Milter)
	const direct, each, throughPostfix = 4, 60, 40
	var traffic sync.WaitGroup
	for range direct {
		traffic.Go(func() { deliverAll(t, s.Milter, each) })
	}
	var tokens []string
	traffic.Go(func() { tokens = pour(p, throughPostfix, 4, 0) })
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
		s.Configure(t, from, to)
		s.Reload(t, `"reloaded"`)
		reloads++
	}
	testenv.Eventually(t, "all mail arrives", func() bool { return haveArrived(p, tokens) && p.Queued() == 0 })
	expectOnce(p, tokens)
	if _, unjudged := arrived(p); unjudged > 0 {
		t.Errorf("%d mails have no verdict", unjudged)
	}
	if n := strings.Count(s.Log(), `"msg":"message"`); n != direct*each+len(tokens) {
		t.Errorf("%d lines in the log for %d messages", n, direct*each+len(tokens))
	}
	t.Logf("%d reloads, %d messages", reloads, direct*each+len(tokens))
}

// deliverAll sends n mails on one connection and expects a verdict on each. A surplus
// answer would be taken for that of the next mail, which has no header.
func deliverAll(t *testing.T, addr string, n int) {
	m, err := harness.DialMilter("tcp", addr, "192.0.2.1")
	if err != nil {
		t.Error(err)
		return
	}
	defer m.Close()
	for range n {
		if err := m.Begin(harness.NewParcel([]byte(harness.Message(harness.Text())))); err != nil {
			t.Error(err)
			return
		}
		final, added, err := m.End()
		if err != nil || final != 'c' && final != 'a' || !strings.Contains(strings.Join(added, " "), "X-Spambloom\x00clean;") {
			t.Errorf("answer %q %q, %v", final, added, err)
			return
		}
	}
	if m.In.Buffered() > 0 {
		t.Error("a surplus answer")
	}
}
