package life

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A socket for other machines passed by systemd is not served unless the configuration
// defines the access.
func TestRemoteSocketOfSystemd(t *testing.T) {
	t.Parallel()
	dir := testenv.Dir(t)
	_, handed := handOver(t, "tcp", "127.0.0.1:0")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, harness.Program(t, "spambloomd"), "--http", "", "--listen", "inet:0@127.0.0.1", "--data", filepath.Join(dir, "state"))
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES=remote")
	cmd.ExtraFiles = []*os.File{handed}
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 78 || !strings.Contains(string(out), "control.remote: is empty, but systemd passes a socket named remote") {
		t.Errorf("exit code %d, want 78\n%s", code, out)
	}
}

// A policy for a listener that systemd does not pass would have no effect. It is an error
// at the start; on SIGHUP the previous rules stay.
func TestListenersHandedOver(t *testing.T) {
	t.Parallel()
	dir := testenv.Dir(t)
	addr, handed := handOver(t, "tcp", "127.0.0.1:0")
	const policy = "[[policy]]\nname = \"p\"\nlisteners = [\"mx\"]\nclean = \"accept\"\n"
	conf := harness.Write(t, filepath.Join(dir, "spambloom.toml"), strings.Replace(policy, "mx", "inet:8899@127.0.0.1", 1))
	const want = `:3: policy.listeners: "inet:8899@127.0.0.1" is not a name of a socket for mail from systemd; allowed: ["mx"]`

	command := func() *exec.Cmd {
		cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, harness.Program(t, "spambloomd"), "--http", "", "--data", filepath.Join(dir, "state"), "-c", conf)
		cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES=mx")
		cmd.ExtraFiles = []*os.File{handed}
		return cmd
	}
	cmd := command()
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 78 || !strings.Contains(string(out), want) {
		t.Errorf("%v, want exit code 78 and %s:\n%s", err, want, out)
	}

	harness.Write(t, conf, policy)
	cmd = command()
	log, err := os.Create(filepath.Join(dir, "log"))
	testenv.Check(t, err)
	defer log.Close()
	cmd.Stderr = log
	testenv.Check(t, harness.StartChild(cmd))
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // both fail after a normal end
	logged := func(text string) func() bool {
		return func() bool {
			all, err := os.ReadFile(log.Name())
			return err == nil && strings.Contains(strings.ReplaceAll(string(all), `\"`, `"`), text)
		}
	}
	testenv.Eventually(t, "ready", logged("msg=ready"))
	status := harness.Execute(t, "", harness.Program(t, "spambloom"), "status", "--json", "--control", "unix:"+filepath.Join(dir, "state", "spambloom.sock"))
	if !strings.Contains(strings.ReplaceAll(status.Stdout, " ", ""), `"milter":["mx"]`) {
		t.Errorf("%+v, want the listener mx", status)
	}
	harness.Write(t, conf, strings.Replace(policy, "mx", "inet:8899@127.0.0.1", 1))
	testenv.Check(t, cmd.Process.Signal(syscall.SIGHUP))
	testenv.Eventually(t, "refused", logged(want))
	if reason, verdict := harness.DialWire(t, addr).Send(harness.LetterTo(harness.Text(), "you@example.org")); verdict != "" {
		t.Errorf("%q %q: the previous policy must accept", reason, verdict)
	}
	harness.Write(t, conf, policy+"bulk = \"accept\"\n")
	testenv.Check(t, cmd.Process.Signal(syscall.SIGHUP))
	testenv.Eventually(t, "reloaded", logged("msg=reloaded"))
	testenv.Check(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A reload also affects the log and the answers to the command. Settings that need a
// restart, such as the site's name in the header, do not change partly.
func TestReloadReachesAllParts(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	w := harness.DialWire(t, s.Milter)
	body := harness.Text()
	send := func() {
		t.Helper()
		if _, verdict := w.Send(harness.LetterTo(body, "you@example.org")); !strings.Contains(verdict, "; site=one;") {
			t.Error(verdict)
		}
	}
	file := harness.Write(t, filepath.Join(s.Dir, "seen.eml"), "\r\n"+body)
	check := func(want string) {
		t.Helper()
		if r := s.CLI("check", file); !strings.Contains(r.Stdout, ": "+want+";") {
			t.Errorf("%+v, want %s", r, want)
		}
	}
	send()
	send()
	check("clean")
	lines := strings.Count(s.Log(), `"msg":"message"`)

	s.Configure(t, `name = "one"`, `name = "two"`)
	s.Configure(t, "threshold = 50", "threshold = 2")
	s.Configure(t, "[log]\n", "[log]\nlevel = \"warn\"\n")
	s.Reload(t, `"changed keys need a restart","keys":["site.name"]`)
	check("bulk")
	send()
	s.Configure(t, "level = \"warn\"", "level = \"info\"")
	s.Reload(t, `"reloaded","changed":["log.level"]`)
	if n := strings.Count(s.Log(), `"msg":"message"`); lines != 2 || n != lines {
		t.Errorf("%d lines of messages, then %d: want 2, and none at level warn", lines, n)
	}
}
