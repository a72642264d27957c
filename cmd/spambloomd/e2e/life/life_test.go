package life

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// systemd's own tool passes sockets of each kind. The corresponding addresses of the
// configuration are not used: they could not be bound.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Configure(t, "inet:0@127.0.0.1", "inet:1@192.0.2.1")
	s.Configure(t, "127.0.0.1:0", "192.0.2.1:1")
	milter, control := filepath.Join(s.Dir, "milter.sock"), filepath.Join(s.Dir, "control.sock")
	s.Milter, s.HTTP, s.Control = fmt.Sprintf("127.0.0.1:%d", testenv.Port(t)), fmt.Sprintf("127.0.0.1:%d", testenv.Port(t)), "unix:"+control
	activate(s, t, "mx-in:mx-out:control:http", s.Milter, milter, control, s.HTTP)

	// The connection that starts the daemon is the first one served.
	first := expectJudged(t, "unix", milter)
	defer first.Close()
	testenv.Eventually(t, "spambloomd is ready", func() bool { return s.ReadReady(s.Log()) })
	expectJudged(t, "tcp", s.Milter).Close()
	if r := s.CLI("status"); r.Code != 0 {
		t.Errorf("status through the socket of systemd: %+v", r)
	}
	if status, _ := s.Get("/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d", status)
	}
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.Log())
	}
	for _, path := range []string{milter, control} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("a socket of systemd is missing after the stop: %v", err)
		}
	}
}

// activate starts systemd-socket-activate, which becomes the daemon at the first
// connection.
func activate(s *harness.Site, t *testing.T, names string, addrs ...string) {
	t.Helper()
	args := []string{"--fdname=" + names, "-E", "GORACE"}
	for _, addr := range addrs {
		args = append(args, "-l", addr)
	}
	args = append(args, harness.Program(t, "spambloomd"), "-c", filepath.Join(s.Dir, "spambloom.toml"), "--data", filepath.Join(s.Dir, "state"))
	logFile, err := os.Create(filepath.Join(s.Dir, "log"))
	testenv.Check(t, err)
	defer logFile.Close()
	s.Cmd = exec.Command(testenv.Program(t, "systemd-socket-activate"), args...)
	s.Cmd.Stderr = logFile
	testenv.Check(t, harness.StartChild(s.Cmd))
	s.Ended = make(chan error, 1)
	go func() { s.Ended <- s.Cmd.Wait() }()
	t.Cleanup(func() { s.Stop(syscall.SIGKILL) })
	testenv.Eventually(t, "systemd-socket-activate listens", func() bool { return strings.Count(s.Log(), "Listening on ") == len(addrs) })
}

// expectJudged sends a mail and leaves the connection open.
func expectJudged(t *testing.T, network, addr string) *harness.MilterConn {
	t.Helper()
	m, err := harness.DialMilter(network, addr, "192.0.2.1")
	testenv.Check(t, err)
	testenv.Check(t, m.Begin(harness.NewParcel([]byte(harness.Message(harness.Text())))))
	final, added, err := m.End()
	if err != nil || !strings.Contains(strings.Join(added, " "), "X-Spambloom\x00clean;") {
		t.Fatalf("%s: answer %q %q, %v", addr, final, added, err)
	}
	return m
}

// A passed socket that the daemon cannot use is an error that names it: a second control
// socket must not become a milter.
func TestSocketsOfNoUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names, want string
		datagram    bool
	}{
		{"control:control", `sockets from systemd: two sockets are named "control"`, false},
		{"control:remote", `control.remote: is empty, but systemd passes a socket named remote`, false},
		{"control:mx", `sockets from systemd: "mx" is not a listening stream socket`, true},
	} {
		_, one := handOver(t, "tcp", "127.0.0.1:0")
		_, two := handOver(t, "tcp", "127.0.0.1:0")
		if c.datagram {
			conn, err := net.ListenPacket("udp", "127.0.0.1:0")
			testenv.Check(t, err)
			defer conn.Close()
			if two, err = conn.(*net.UDPConn).File(); err != nil {
				t.Fatal(err)
			}
			defer two.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience) // in case it accepts them
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, harness.Program(t, "spambloomd"),
			"--listen", "inet:0@127.0.0.1", "--http", "", "--data", filepath.Join(testenv.Dir(t), "state"))
		cmd.Env = append(os.Environ(), "LISTEN_FDS=2", "LISTEN_FDNAMES="+c.names)
		cmd.ExtraFiles = []*os.File{one, two}
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 78 || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, want exit code 78 and %q:\n%s", c.names, err, c.want, out)
		}
	}
}

// The notices to systemd: that a start takes longer, each reload with its time and its result, and that a stop takes
// longer.
func TestNotices(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	path := filepath.Join(s.Dir, "notify")
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	testenv.Check(t, err)
	defer notify.Close()
	s.Env = []string{"NOTIFY_SOCKET=" + path}
	s.Start()
	expectNotice(t, notify, "STATUS=Opening the state folder and its ledger of reports")
	expectNotice(t, notify, "EXTEND_TIMEOUT_USEC=30000000")
	expectStatus(t, expectNotice(t, notify, "READY=1"), "STATUS=Judging mail")

	before := monotonic(t)
	s.Reload(t, `"reloaded"`)
	more := expectNotice(t, notify, "RELOADING=1")
	text, ok := strings.CutPrefix(more[0], "MONOTONIC_USEC=")
	at, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil || at < before || at > monotonic(t) {
		t.Errorf("%q is not the time of the reload: from %d to %d", more, before, monotonic(t))
	}
	expectStatus(t, expectNotice(t, notify, "READY=1"), "STATUS=Judging mail")

	s.Configure(t, "threshold = 50", "threshold = 0")
	s.Reload(t, `"reload failed`)
	expectNotice(t, notify, "RELOADING=1")
	expectStatus(t, expectNotice(t, notify, "READY=1"), "STATUS=Running with the previous configuration; the new one is invalid (see the log)")

	m, err := harness.DialMilter("tcp", s.Milter, "192.0.2.1")
	testenv.Check(t, err)
	defer m.Close()
	inFlight(t, m)
	testenv.Check(t, s.Cmd.Process.Signal(syscall.SIGTERM))
	expectStatus(t, expectNotice(t, notify, "STOPPING=1"), "STATUS=Finishing the messages in flight, for at most 1m0s")
	for range 2 { // the message is still in flight
		expectNotice(t, notify, "EXTEND_TIMEOUT_USEC=30000000")
	}
	if err := s.Cmd.Process.Signal(syscall.SIGHUP); err != nil { // causes neither a reload nor the end
		t.Fatal(err)
	}
	if _, _, err := m.End(); err != nil {
		t.Errorf("the message in flight: %v", err)
	}
	if code := s.Stop(harness.NoSignal); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.Log())
	}
}

func expectStatus(t *testing.T, more []string, want string) {
	t.Helper()
	if len(more) != 1 || more[0] != want {
		t.Errorf("systemd also received %q, want %q", more, want)
	}
}

// monotonic returns the clock by which systemd orders reloads, in microseconds.
func monotonic(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	testenv.Check(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	return now.Nano() / 1000
}

// inFlight begins a message and waits until the daemon has read it.
func inFlight(t *testing.T, m *harness.MilterConn) {
	t.Helper()
	testenv.Check(t, m.Begin(harness.NewParcel([]byte(harness.Message(harness.Text())))))
	testenv.Check(t, m.Sync())
}

// SIGTERM closes the connections without a message while another message is still in
// flight. A second one ends the daemon at once, by the signal itself. Everything
// acknowledged before exists at the next start.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Configure(t, "[milter]", "[milter]\ngrace = \"1h\"")
	s.Start()
	idle := expectJudged(t, "tcp", s.Milter)
	defer idle.Close()
	busy, err := harness.DialMilter("tcp", s.Milter, "192.0.2.1")
	testenv.Check(t, err)
	defer busy.Close()
	inFlight(t, busy)
	reported := harness.Request(harness.Text())
	if _, err := client.Post(t.Context(), s.Client(), v1.Report, reported); err != nil {
		t.Fatal(err)
	}
	testenv.Check(t, s.Cmd.Process.Signal(syscall.SIGTERM))
	// The message in flight has an hour, longer than this test waits.
	idle.SetReadDeadline(time.Now().Add(testenv.Patience))
	if _, err := idle.In.ReadByte(); err == nil || os.IsTimeout(err) {
		t.Errorf("an idle connection is not closed at the stop: %v", err)
	}
	if conn, err := net.Dial("tcp", s.Milter); err == nil {
		conn.Close()
		t.Error("new connections are accepted during the stop")
	}
	for path, want := range map[string]int{"/readyz": 503, "/healthz": 200, "/metrics": 200} {
		if status, body := s.Get(path); status != want {
			t.Errorf("%s during the stop: %d %s, want %d", path, status, body, want)
		}
	}
	select {
	case err := <-s.Ended:
		t.Fatalf("ended with a message in flight: %v", err)
	default:
	}
	cmd := s.Cmd
	if code := s.Stop(syscall.SIGTERM); code != -1 {
		t.Errorf("the second SIGTERM: exit code %d, want an end by the signal", code)
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("ended by %v", status.Signal())
	}
	s.Start()
	harness.ExpectListed(t, s, []api.Request{reported})
}

// The milter's unix sockets have the mode and group of the configuration, the control
// socket its own. The daemon replaces an existing file only if it is a socket on which no
// process answers.
func TestMilterSocket(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	path := filepath.Join(s.Dir, "milter.sock")
	group := os.Getgid()
	if os.Geteuid() == 0 {
		group = harness.GroupID(t, "nogroup")
	}
	s.Configure(t, `["inet:0@127.0.0.1"]`, fmt.Sprintf("[\"unix:%s\"]\nsocket_mode = \"0622\"\ngroup = \"%d\"", path, group))
	s.Start()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o622 || int(info.Sys().(*syscall.Stat_t).Gid) != group {
		t.Errorf("%v, %v, want mode 0622 and group %d", info, err, group)
	}
	if info, err := os.Stat(filepath.Join(s.Dir, "state", "spambloom.sock")); err != nil || info.Mode().Perm() != 0o660 || int(info.Sys().(*syscall.Stat_t).Gid) != os.Getgid() {
		t.Errorf("the control socket: %v, %v, want mode 0660 and our own group", info, err)
	}

	other := harness.NewSite(t, "two", filepath.Join(testenv.Dir(t), "key"), "")
	other.Configure(t, "inet:0@127.0.0.1", "unix:"+path)
	expectRefusal(t, other, "socket in use by another process")
	expectJudged(t, "unix", path).Close() // it was not disturbed

	s.Stop(syscall.SIGKILL)
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("kill -9 left no socket, so the test shows nothing: %v", err)
	}
	s.Start()
	expectJudged(t, "unix", path).Close()
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.Log())
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket still exists after the daemon: %v", err)
	}
	harness.Write(t, path, "precious")
	expectRefusal(t, other, "the file exists and is not a socket")
	if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
}

// expectRefusal starts a daemon that cannot use its milter's address.
func expectRefusal(t *testing.T, s *harness.Site, want string) {
	t.Helper()
	r := harness.Execute(t, "", harness.Program(t, "spambloomd"), "-c", filepath.Join(s.Dir, "spambloom.toml"), "--data", filepath.Join(s.Dir, "state"))
	if r.Code != 75 || !strings.Contains(r.Stderr, "milter.listen: ") || !strings.Contains(r.Stderr, want) {
		t.Errorf("%+v, want exit code 75 and %q", r, want)
	}
}

// A message not finished within the grace period is cut off, so that a stop ends; the MTA
// retries later.
func TestGrace(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Configure(t, "[milter]", "[milter]\ngrace = \"1h\"")
	s.Start()
	s.Configure(t, `"1h"`, `"1s"`)
	s.Reload(t, `"reloaded"`)
	m, err := harness.DialMilter("tcp", s.Milter, "192.0.2.1")
	testenv.Check(t, err)
	defer m.Close()
	inFlight(t, m)
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.Log())
	}
	if _, _, err := m.End(); err == nil {
		t.Error("an answer after the grace period")
	}
	if !strings.Contains(s.Log(), `"connections cut off at shutdown","server":"milter"`) {
		t.Errorf("the log does not report that a message was cut off:\n%s", s.Log())
	}
}
