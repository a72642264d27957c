package mta

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// While anybody holds all sessions of a Postfix with three services but one, each idle, mail in that one
// has its verdict. With SPAMBLOOM_SOAK the limits are the defaults of both programs; else a tenth of them.
func TestIdleSessions(t *testing.T) {
	t.Parallel()
	s, processes := harness.NewSite(t, "mx1", harness.KeyFile(t, [32]byte{1}), ""), 100
	if !testenv.Soak() {
		processes = 10
		s.Configure(t, "[milter]\n", "[milter]\nmax_connections = 100\nmax_connections_per_client = 40\n")
	}
	s.Start()
	p := harness.NewPostfix(t)
	p.Extra = fmt.Sprintf("default_process_limit = %d\n", processes)
	services := []string{testenv.Local(testenv.Port(t)), testenv.Local(testenv.Port(t))}
	for _, addr := range services {
		p.Services += addr + " inet n - n - - smtpd\n"
	}
	p.Start("mx1", "inet:"+s.Milter, "n")
	spam, file := harness.Message(harness.Text()), filepath.Join(t.TempDir(), "spam.eml")
	harness.Write(t, file, spam)
	if r := s.CLI("report", file); r.Code != 0 {
		t.Fatalf("report: %+v", r)
	}

	for i := range 3*processes - 1 {
		addr := append(services, p.Addr)[i/processes]
		c, err := net.Dial("tcp", addr)
		testenv.Check(t, err)
		defer c.Close()
		c.SetReadDeadline(time.Now().Add(testenv.Patience)) // the read returns the error
		if greeting, err := bufio.NewReader(c).ReadString('\n'); err != nil {
			t.Fatalf("session %d: %q, %v", i, greeting, err)
		}
	}
	if n := s.Metric("spambloom_milter_connections"); n < float64(3*processes-1) {
		t.Errorf("%v connections for %d sessions", n, 3*processes-1)
	}
	if m := p.Send(spam); m == nil || m.Header.Get("X-Spam-Flag") != "YES" {
		t.Errorf("spam beside idle sessions: %+v", m)
	}
}
