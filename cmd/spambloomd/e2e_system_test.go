package main

import (
	"bytes"
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
)

// What `make run` prints can be typed as it stands, from the repository.
func TestMakeRun(t *testing.T) {
	t.Parallel()
	_, err := os.Stat(config.DefaultPath)
	need(t, err != nil, "a machine without a configuration of its own, which make run would use")
	recipe := execute(t, repository, "make", "-n", "run")
	start := regexp.MustCompile(`(?m)^exec bin/spambloomd (.*)$`).FindStringSubmatch(recipe.stdout)
	if start == nil {
		t.Fatalf("make run does not start bin/spambloomd: %+v", recipe)
	}
	state := filepath.Join(folder(t), "state")
	args := append(strings.Fields(strings.Replace(start[1], "spambloom-data", state, 1)), "--listen", "inet:0@127.0.0.1", "--http", "127.0.0.1:0")
	out, err := os.Create(filepath.Join(folder(t), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(program(t, "spambloomd"), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = repository, out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	var printed string
	eventually(t, "the daemon is ready", func() bool {
		text, err := os.ReadFile(out.Name())
		printed = string(text)
		return err == nil && strings.Contains(printed, "msg=ready")
	})
	lines := regexp.MustCompile(`(?m)^  (\S.*)$`).FindAllStringSubmatch(printed, -1)
	if len(lines) != 5 {
		t.Fatalf("%d lines to type, want 5:\n%s", len(lines), printed)
	}
	for i, want := range []string{"text ", "", "spam", "", "site"} {
		r := execute(t, repository, "sh", "-c", lines[i][1])
		if r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("%s: %+v, want exit 0 and %q", lines[i][1], r, want)
		}
	}
}

// What is printed is true of the flags too, and gives no password away.
func TestNextShowsRedis(t *testing.T) {
	for flag, want := range map[string]string{
		"": "Redis: none.",
		"redis://me:secret@db:6379/0?password=secret": "Redis: redis://***@db:6379/0?***.",
		"unix:///run/redis.sock":                      "Redis: unix:///run/redis.sock.",
	} {
		s := &settings{Config: config.Default(), data: "/data"}
		s.Redis.URL = flag
		var out bytes.Buffer
		printNext(&out, s)
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "secret") {
			t.Errorf("with --redis %q, want %q:\n%s", flag, want, out.String())
		}
		s.file = "c.toml"
		out.Reset()
		if printNext(&out, s); out.Len() > 0 {
			t.Errorf("with a configuration file: %s", out.String())
		}
	}
}

// The daemon tells systemd when it is ready, reloads and stops, and takes the
// sockets that systemd hands over.
func TestSystemd(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer notify.Close()
	milter, handed := handOver(t, "tcp", "127.0.0.1:0")
	control, handedControl := handOver(t, "unix", filepath.Join(dir, "control.sock"))

	// The shell is the process that systemd would have started.
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, program(t, "spambloomd"), "--http", "", "--listen", "inet:1@192.0.2.1")
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(dir, "notify"), "STATE_DIRECTORY="+filepath.Join(dir, "state"),
		"LISTEN_FDS=2", "LISTEN_FDNAMES=spambloom.socket:control")
	cmd.ExtraFiles = []*os.File{handed, handedControl}
	out, err := os.Create(filepath.Join(dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	info, err := out.Stat()
	if err != nil {
		t.Fatal(err)
	}
	place := info.Sys().(*syscall.Stat_t)
	cmd.Stdout, cmd.Env = out, append(cmd.Env, fmt.Sprintf("JOURNAL_STREAM=%d:%d", place.Dev, place.Ino))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // both fail after a good end
	expectNotice(t, notify, "READY=1")
	conn, err := net.Dial("tcp", milter)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if r := execute(t, "", program(t, "spambloom"), "status", "--control", "unix:"+control); r.code != 0 {
		t.Errorf("status through the socket of systemd: %+v", r)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	expectNotice(t, notify, "RELOADING=1")
	expectNotice(t, notify, "READY=1")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	expectNotice(t, notify, "STOPPING=1")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if printed, err := os.ReadFile(out.Name()); err != nil || len(printed) > 0 {
		t.Errorf("in the journal stands what to type (%v):\n%s", err, printed)
	}
}

// handOver listens like systemd and gives the file to inherit.
func handOver(t *testing.T, network, address string) (addr string, file *os.File) {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	file, err = ln.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return ln.Addr().String(), file
}

// expectNotice returns the lines behind the one that is wanted.
func expectNotice(t *testing.T, conn *net.UnixConn, want string) (more []string) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 4096)
	n, err := conn.Read(buffer)
	notice := strings.Split(string(buffer[:n]), "\n")
	if err != nil || notice[0] != want {
		t.Fatalf("systemd was told %q (%v), want %q", notice, err, want)
	}
	return notice[1:]
}

// Debian's docker-compose reads the file, and it has the parts it promises.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	r := execute(t, repository, find(t, "docker-compose"), "config")
	if r.code != 0 {
		t.Fatalf("docker-compose config: %+v", r)
	}
	for _, want := range []string{"redis:", "spambloomd-a:", "spambloomd-b:", "postfix-a:", "postfix-b:", "federation:/federation"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %s in\n%s", want, r.stdout)
		}
	}
}

// systemd reads the units without complaint. Programs that are not installed
// here are no fault of them.
func TestUnitFiles(t *testing.T) {
	t.Parallel()
	r := execute(t, repository, find(t, "systemd-analyze"), "verify", "contrib/spambloom.service", "contrib/spambloom.socket")
	for line := range strings.Lines(r.stderr + r.stdout) {
		if strings.Contains(line, "spambloom.") && !strings.Contains(line, "is not executable") {
			t.Error(line)
		}
	}
}
