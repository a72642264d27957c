package faults

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The clock of a running daemon jumps through the periods of counts and reports, and the
// daemon is restarted meanwhile. Known spam stays spam, reports made meanwhile can be
// revoked, and status, /readyz and the log show the jump. A lasting jump is trusted.
func TestClockJumpsOfADaemon(t *testing.T) {
	testenv.Servers(t)
	dir := testenv.Dir(t)
	s := harness.NewSite(t, "mx1", harness.KeyFile(t, [32]byte{1}), "")
	s.Binary, s.Env = faultyDaemon(t), []string{"SPAMBLOOM_CLOCK=" + filepath.Join(dir, "clock")}
	elapsed := time.Duration(0)
	move := func(wall time.Duration) {
		next := harness.Write(t, filepath.Join(dir, "new"), (wall+elapsed).String()+" "+elapsed.String())
		if err := os.Rename(next, filepath.Join(dir, "clock")); err != nil {
			t.Fatal(err)
		}
	}
	mail := func(name string) string {
		return harness.Write(t, filepath.Join(dir, name+".eml"), harness.Message(harness.Text()))
	}
	want := func(code int, args ...string) {
		t.Helper()
		if r := s.CLI(args...); r.Code != code {
			t.Errorf("%v: exit %d, want %d: %s%s", args, r.Code, code, r.Stdout, r.Stderr)
		}
	}
	known := mail("known")
	move(0)
	s.Start()
	want(0, "report", known)
	const day = 24 * time.Hour
	for i, jump := range []time.Duration{2 * day, 8 * day, 60 * day, -8 * day} {
		meanwhile := mail("meanwhile" + strings.Repeat("x", i+1))
		move(jump)
		want(0, "check", known)
		if i%2 == 1 {
			if code := s.Stop(syscall.SIGTERM); code != 0 {
				t.Fatalf("exit %d", code)
			}
			s.Start()
		}
		want(0, "report", meanwhile)
		want(0, "check", meanwhile)
		if r := s.CLI("status"); !strings.Contains(r.Stdout, "clock") {
			t.Errorf("%s: status: %s", jump, r.Stdout)
		}
		if status, body := s.Get("/readyz"); status != 200 || !strings.Contains(body, "clock: off by") {
			t.Errorf("%s: readyz: %d %s", jump, status, body)
		}
		testenv.Eventually(t, "the page names the jump", func() bool { // it is made every two seconds
			_, page := s.Get("/")
			return strings.Contains(page, `class="state attention"`) && strings.Contains(page, "The clock jumped by ")
		})
		want(0, "revoke", meanwhile)
		want(1, "check", meanwhile)
		move(0)
		want(0, "check", known)
		want(1, "check", meanwhile)
		if _, body := s.Get("/readyz"); body != "ready\n" {
			t.Errorf("readyz, the clock right again: %s", body)
		}
	}
	if !strings.Contains(s.Log(), "the clock has jumped") || !strings.Contains(s.Log(), "the clock is right again") {
		t.Errorf("log:\n%s", s.Log())
	}
	move(60 * day)
	want(0, "check", known)
	elapsed += day
	move(60 * day)
	want(1, "check", known) // too old by a clock that has been confirmed
	// Soon it has had no mail for a day.
	if _, body := s.Get("/readyz"); !strings.HasPrefix(body, "ready\n") || strings.Contains(body, "clock") {
		t.Errorf("readyz, the jump is trusted: %s", body)
	}
}
