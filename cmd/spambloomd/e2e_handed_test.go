package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A policy for a listener that systemd does not hand over would be without effect: that
// is an error of the start, and on SIGHUP the rules of before stay.
func TestListenersHandedOver(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	addr, handed := handOver(t, "tcp", "127.0.0.1:0")
	const policy = "[[policy]]\nname = \"p\"\nlisteners = [\"mx\"]\nclean = \"accept\"\n"
	conf := write(t, filepath.Join(dir, "spambloom.toml"), strings.Replace(policy, "mx", "inet:8899@127.0.0.1", 1))
	const want = `:3: policy.listeners: "inet:8899@127.0.0.1" is no name of a milter's socket from systemd; allowed: ["mx"]`

	command := func() *exec.Cmd {
		cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, program(t, "spambloomd"), "--http", "", "--data", filepath.Join(dir, "state"), "-c", conf)
		cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES=mx")
		cmd.ExtraFiles = []*os.File{handed}
		return cmd
	}
	cmd := command()
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 78 || !strings.Contains(string(out), want) {
		t.Errorf("%v, want exit code 78 and %s:\n%s", err, want, out)
	}

	write(t, conf, policy)
	cmd = command()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // both fail after a good end
	logged := func(text string) func() bool {
		return func() bool {
			all, err := os.ReadFile(log.Name())
			return err == nil && strings.Contains(strings.ReplaceAll(string(all), `\"`, `"`), text)
		}
	}
	eventually(t, "ready", logged("msg=ready"))
	status := execute(t, "", program(t, "spambloom"), "status", "--json", "--control", "unix:"+filepath.Join(dir, "state", "spambloom.sock"))
	if !strings.Contains(strings.ReplaceAll(status.stdout, " ", ""), `"milter":["mx"]`) {
		t.Errorf("%+v, want the listener mx", status)
	}
	write(t, conf, strings.Replace(policy, "mx", "inet:8899@127.0.0.1", 1))
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "refused", logged(want))
	if reason, verdict := dialWire(t, addr).send(to(text(), "you@example.org")); verdict != "" {
		t.Errorf("%q %q: the policy of before is to accept", reason, verdict)
	}
	write(t, conf, policy+"bulk = \"accept\"\n")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "reloaded", logged("msg=reloaded"))
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A file that was read at the start and is away at a SIGHUP, as while an editor writes
// it anew, must not turn all policies and rules off.
func TestUsualFileAwayAtReload(t *testing.T) {
	dir := t.TempDir()
	usual := filepath.Join(dir, "spambloom.toml")
	unchanged := func(string) bool { return false }
	s, err := makeSettings(flags{data: dir}, unchanged, false, usual)
	if err != nil || s.file != "" {
		t.Fatalf("without a file: %q, %v", s.file, err)
	}
	write(t, usual, "[actions]\nspam = \"reject\"\n")
	for range 2 { // at the first it comes to be
		if s, err = s.reload(); err != nil || s.file != usual || s.Actions.Spam != "reject" {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	if err := os.Remove(usual); err != nil {
		t.Fatal(err)
	}
	if s, err := s.reload(); err == nil || !strings.Contains(err.Error(), usual) {
		t.Errorf("reloaded with %+v, %v", s, err)
	}
}

// A reload reaches the log and the answers to the command, too; what takes a restart,
// such as the site's name in the header, does not come half.
func TestReloadReachesAllParts(t *testing.T) {
	t.Parallel()
	s := newSite(t, "one", filepath.Join(folder(t), "key"), "").start()
	w := dialWire(t, s.milter)
	body := text()
	send := func() {
		t.Helper()
		if _, verdict := w.send(to(body, "you@example.org")); !strings.Contains(verdict, "; site=one;") {
			t.Error(verdict)
		}
	}
	file := write(t, filepath.Join(s.dir, "seen.eml"), "\r\n"+body)
	check := func(want string) {
		t.Helper()
		if r := s.cli("check", file); !strings.Contains(r.stdout, ": "+want+";") {
			t.Errorf("%+v, want %s", r, want)
		}
	}
	send()
	send()
	check("clean")
	lines := strings.Count(s.log(), `"msg":"message"`)

	s.configure(t, `name = "one"`, `name = "two"`)
	s.configure(t, "threshold = 50", "threshold = 2")
	s.configure(t, "[log]\n", "[log]\nlevel = \"warn\"\n")
	s.reload(t, `"changed keys that need a restart","keys":["site.name"]`)
	check("bulk")
	send()
	s.configure(t, "level = \"warn\"", "level = \"info\"")
	s.reload(t, `"reloaded","changed":["log.level"]`)
	if n := strings.Count(s.log(), `"msg":"message"`); lines != 2 || n != lines {
		t.Errorf("%d lines of messages, then %d: want 2, and none at level warn", lines, n)
	}
}
