package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// movable builds the daemon with a clock that a file moves (clock_moved.go).
func movable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spambloomd")
	cmd := exec.Command("go", "build", "-race", "-tags", "movedclock", "-o", path, "./cmd/spambloomd")
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return path
}

// The clock of a running daemon jumps through the periods of counts and reports, and the
// daemon is started again meanwhile. Known spam stays spam, what is reported meanwhile can
// be revoked, and status, /readyz and the log name the jump. One that lasts is believed.
func TestClockJumpsOfADaemon(t *testing.T) {
	testenv.Servers(t)
	dir := folder(t)
	s := newSite(t, "mx1", keyFile(t, [32]byte{1}), "")
	s.binary, s.env = movable(t), []string{"SPAMBLOOM_CLOCK=" + filepath.Join(dir, "clock")}
	elapsed := time.Duration(0)
	move := func(wall time.Duration) {
		write(t, filepath.Join(dir, "new"), (wall+elapsed).String()+" "+elapsed.String())
		if err := exec.Command("mv", filepath.Join(dir, "new"), filepath.Join(dir, "clock")).Run(); err != nil {
			t.Fatal(err)
		}
	}
	mail := func(name string) string {
		text := "From: a@example.net\r\nSubject: " + name + "\r\n\r\n"
		for i := range 60 {
			text += name + words[i%len(words)] + " "
		}
		return write(t, filepath.Join(dir, name+".eml"), text+"\r\n")
	}
	want := func(code int, args ...string) {
		t.Helper()
		if r := s.cli(args...); r.code != code {
			t.Errorf("%v: exit %d, want %d: %s%s", args, r.code, code, r.stdout, r.stderr)
		}
	}
	known := mail("known")
	move(0)
	s.start()
	want(0, "report", known)
	const day = 24 * time.Hour
	for i, jump := range []time.Duration{2 * day, 8 * day, 60 * day, -8 * day} {
		meanwhile := mail("meanwhile" + strings.Repeat("x", i+1))
		move(jump)
		want(0, "check", known)
		if i%2 == 1 {
			if code := s.stop(syscall.SIGTERM); code != 0 {
				t.Fatalf("exit %d", code)
			}
			s.start()
		}
		want(0, "report", meanwhile)
		want(0, "check", meanwhile)
		if r := s.cli("status"); !strings.Contains(r.stdout, "clock") {
			t.Errorf("%s: status: %s", jump, r.stdout)
		}
		if status, body := s.get("/readyz"); status != 200 || !strings.Contains(body, "clock: off by") {
			t.Errorf("%s: readyz: %d %s", jump, status, body)
		}
		want(0, "revoke", meanwhile)
		want(1, "check", meanwhile)
		move(0)
		want(0, "check", known)
		want(1, "check", meanwhile)
		if _, body := s.get("/readyz"); body != "ready\n" {
			t.Errorf("readyz, the clock right again: %s", body)
		}
	}
	if !strings.Contains(s.log(), "the clock has jumped") || !strings.Contains(s.log(), "the clock is right again") {
		t.Errorf("log:\n%s", s.log())
	}
	move(60 * day)
	want(0, "check", known)
	elapsed += day
	move(60 * day)
	want(1, "check", known) // too old, by a clock that has lasted
	if _, body := s.get("/readyz"); body != "ready\n" {
		t.Errorf("readyz, the jump is believed: %s", body)
	}
}
