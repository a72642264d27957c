package life

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The commands printed by `make run` work unchanged in the repository. The mail that it shows
// is tested in cmd/internal/firstmail.
func TestMakeRun(t *testing.T) {
	t.Parallel()
	_, err := os.Stat(config.DefaultPath)
	testenv.Need(t, err != nil, "a machine without a configuration of its own, which make run would use")
	recipe := harness.Execute(t, harness.Repository, "make", "-n", "run")
	start := regexp.MustCompile(`(?m)^exec bin/spambloomd (.*)$`).FindStringSubmatch(recipe.Stdout)
	if start == nil {
		t.Fatalf("make run does not start bin/spambloomd: %+v", recipe)
	}
	state := filepath.Join(testenv.Dir(t), "state")
	args := append(strings.Fields(strings.Replace(start[1], "spambloom-data", state, 1)), "--listen", "inet:0@127.0.0.1", "--http", "127.0.0.1:0")
	out, err := os.Create(filepath.Join(testenv.Dir(t), "out"))
	testenv.Check(t, err)
	defer out.Close()
	cmd := exec.Command(harness.Program(t, "spambloomd"), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = harness.Repository, out, out
	testenv.Check(t, harness.StartChild(cmd))
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	var printed string
	testenv.Eventually(t, "the daemon is ready", func() bool {
		text, err := os.ReadFile(out.Name())
		printed = string(text)
		return err == nil && strings.Contains(printed, "msg=ready")
	})
	lines := regexp.MustCompile(`(?m)^  (\S.*)$`).FindAllStringSubmatch(printed, -1)
	// The wanted text contains more than the name of the sample, which has "spam" in it.
	wanted := []struct{ verb, text string }{
		{"sign", ": text "}, {"report", ": accepted;"}, {"revoke", ": accepted;"},
		{"report", ": accepted;"}, {"check", ": spam;"}, {"status", "This site works alone."},
	}
	if len(lines) != len(wanted) {
		t.Fatalf("%d lines to type, want %d:\n%s", len(lines), len(wanted), printed)
	}
	for i, want := range wanted {
		line := lines[i][1]
		if fields := strings.Fields(line); len(fields) < 2 || fields[1] != want.verb {
			t.Errorf("line %d is %q, want %s", i+1, line, want.verb)
		}
		if r := harness.Execute(t, harness.Repository, "sh", "-c", line); r.Code != 0 || !strings.Contains(r.Stdout, want.text) {
			t.Errorf("%s: %+v, want exit 0 and %q", line, r, want.text)
		}
	}
}

// The daemon notifies systemd when it is ready, reloads and stops, and uses the sockets
// passed by systemd.
func TestSystemd(t *testing.T) {
	t.Parallel()
	dir := testenv.Dir(t)
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	testenv.Check(t, err)
	defer notify.Close()
	milter, handed := handOver(t, "tcp", "127.0.0.1:0")
	control, handedControl := handOver(t, "unix", filepath.Join(dir, "control.sock"))

	// The shell is the process that systemd would have started.
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, harness.Program(t, "spambloomd"), "--http", "", "--listen", "inet:1@192.0.2.1")
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(dir, "notify"), "STATE_DIRECTORY="+filepath.Join(dir, "state"),
		"LISTEN_FDS=2", "LISTEN_FDNAMES=spambloom.socket:control")
	cmd.ExtraFiles = []*os.File{handed, handedControl}
	out, err := os.Create(filepath.Join(dir, "journal"))
	testenv.Check(t, err)
	defer out.Close()
	info, err := out.Stat()
	testenv.Check(t, err)
	place := info.Sys().(*syscall.Stat_t)
	cmd.Stdout, cmd.Env = out, append(cmd.Env, fmt.Sprintf("JOURNAL_STREAM=%d:%d", place.Dev, place.Ino))
	testenv.Check(t, harness.StartChild(cmd))
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // both fail after a normal end
	expectNotice(t, notify, "STATUS=Opening the state folder and its ledger of reports")
	expectNotice(t, notify, "READY=1")
	conn, err := net.Dial("tcp", milter)
	testenv.Check(t, err)
	conn.Close()
	if r := harness.Execute(t, "", harness.Program(t, "spambloom"), "status", "--control", "unix:"+control); r.Code != 0 {
		t.Errorf("status through the socket of systemd: %+v", r)
	}
	testenv.Check(t, cmd.Process.Signal(syscall.SIGHUP))
	expectNotice(t, notify, "RELOADING=1")
	expectNotice(t, notify, "READY=1")
	testenv.Check(t, cmd.Process.Signal(syscall.SIGTERM))
	expectNotice(t, notify, "STOPPING=1")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if printed, err := os.ReadFile(out.Name()); err != nil || len(printed) > 0 {
		t.Errorf("the journal contains the commands to type (%v):\n%s", err, printed)
	}
}

// handOver listens like systemd and returns the file to inherit.
func handOver(t *testing.T, network, address string) (addr string, file *os.File) {
	t.Helper()
	ln, err := net.Listen(network, address)
	testenv.Check(t, err)
	t.Cleanup(func() { ln.Close() })
	file, err = ln.(interface{ File() (*os.File, error) }).File()
	testenv.Check(t, err)
	t.Cleanup(func() { file.Close() })
	return ln.Addr().String(), file
}

// expectNotice returns the lines after the wanted one. It passes over requests for more time.
func expectNotice(t *testing.T, conn *net.UnixConn, want string) (more []string) {
	t.Helper()
	testenv.Check(t, conn.SetReadDeadline(time.Now().Add(testenv.Patience)))
	buffer := make([]byte, 4096)
	n, err := conn.Read(buffer)
	for err == nil && strings.HasPrefix(string(buffer[:n]), "EXTEND_TIMEOUT_USEC=") && !strings.HasPrefix(want, "EXTEND") {
		n, err = conn.Read(buffer)
	}
	notice := strings.Split(string(buffer[:n]), "\n")
	if err != nil || notice[0] != want {
		t.Fatalf("systemd received %q (%v), want %q", notice, err, want)
	}
	return notice[1:]
}

// Debian's docker-compose accepts the file, and it contains the documented parts.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	r := harness.Execute(t, harness.Repository, testenv.Program(t, "docker-compose"), "config")
	if r.Code != 0 {
		t.Fatalf("docker-compose config: %+v", r)
	}
	for _, want := range []string{"redis:", "spambloomd-a:", "spambloomd-b:", "postfix-a:", "postfix-b:", "federation:/federation"} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("no %s in\n%s", want, r.Stdout)
		}
	}
}

// With contrib/images.env every base image has a digest: none that the Dockerfile or
// the compose file names is left without one.
func TestPinnedImages(t *testing.T) {
	t.Parallel()
	compose := testenv.Program(t, "docker-compose")
	r := harness.Execute(t, harness.Repository, compose, "--env-file", "contrib/images.env", "config")
	if r.Code != 0 {
		t.Fatalf("docker-compose config: %+v", r)
	}
	pinned := regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)
	arguments := make(map[string]bool)
	for line := range strings.Lines(r.Stdout) {
		name, image, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name != "image" && !strings.HasSuffix(name, "_IMAGE") {
			continue
		}
		arguments[name] = true
		if !pinned.MatchString(image) {
			t.Errorf("%s has no digest: %s", name, image)
		}
	}
	dockerfile, err := os.ReadFile(filepath.Join(harness.Repository, "Dockerfile"))
	testenv.Check(t, err)
	from := regexp.MustCompile(`(?m)^FROM (\S+)`)
	for _, stage := range from.FindAllSubmatch(dockerfile, -1) {
		name := strings.Trim(string(stage[1]), "${}")
		if name != "scratch" && !arguments[name] { // scratch is empty
			t.Errorf("FROM %s: not among the pinned images %v", stage[1], arguments)
		}
	}
}

// systemd accepts the units without complaint. Programs missing on this machine are not
// errors of the units.
func TestUnitFiles(t *testing.T) {
	t.Parallel()
	r := harness.Execute(t, harness.Repository, testenv.Program(t, "systemd-analyze"), "verify", "contrib/spambloom.service", "contrib/spambloom.socket")
	for line := range strings.Lines(r.Stderr + r.Stdout) {
		if strings.Contains(line, "spambloom.") && !strings.Contains(line, "is not executable") {
			t.Error(line)
		}
	}
}
