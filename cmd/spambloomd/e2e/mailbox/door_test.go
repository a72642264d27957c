package mailbox

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// dialAs connects to a socket as another user. Linux keeps credentials by thread: this
// thread changes them, connects, and ends with its goroutine.
func dialAs(t *testing.T, path string, uid int) net.Conn {
	t.Helper()
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			done <- result{err: errno}
			return
		}
		conn, err := net.Dial("unix", path)
		done <- result{conn, err}
	}()
	r := testenv.Receive(t, "a connection", done)
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(func() { r.conn.Close() })
	return r.conn
}

// 256 keep-alive connections of one unprivileged user delay neither root's commands nor
// another user's reports; the log and /readyz report whose they are.
func TestOneUserCannotHoldTheControlSocket(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Control = "unix:" + filepath.Join(s.Dir, "control.sock")
	s.Configure(t, "[log]", fmt.Sprintf("[control]\nlisten = %q\n[log]", s.Control))
	s.Start()
	command := harness.Program(t, "spambloom")
	path := strings.TrimPrefix(s.Control, "unix:")
	for name, mode := range map[string]os.FileMode{filepath.Dir(command): 0o755, s.Dir: 0o755, path: 0o666} { // like systemd's socket
		testenv.Check(t, os.Chmod(name, mode))
	}
	status := make(map[int]int)
	for range 256 {
		conn := dialAs(t, path, 64011)
		conn.SetDeadline(time.Now().Add(testenv.Patience))
		// A write, and the read, may fail because the daemon has closed the connection.
		_, _ = io.WriteString(conn, "GET /v1/whoami HTTP/1.1\r\nHost: x\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			status[0]++
			continue
		}
		status[answer.StatusCode]++
		answer.Body.Close()
	}
	if status[http.StatusOK] < 64 || status[http.StatusTooManyRequests] == 0 {
		t.Errorf("the connections are answered %v", status)
	}
	held := status[http.StatusOK] == 64 // none of them has ended on a slow machine
	if r := s.CLI("status"); r.Code != 0 {
		t.Errorf("root's status: %+v", r)
	}
	mail := harness.Write(t, filepath.Join(s.Dir, "mail.eml"), harness.Message(harness.Text()))
	testenv.Check(t, os.Chmod(mail, 0o644))
	env := []string{"SPAMBLOOM_CONTROL=" + s.Control, "HOME=/nonexistent"}
	if r := as(s, &syscall.Credential{Uid: 64012, Gid: 64012}, env, "report", "--no-queue", mail); r.Code != 0 {
		t.Errorf("another user's report: %+v", r)
	}
	if code, said := s.Get("/readyz"); held && (code != http.StatusOK || !strings.Contains(said, "control.listen: connections of uid:64011 are refused")) {
		t.Errorf("/readyz: %d %s", code, said)
	}
	if n := strings.Count(s.Log(), `"msg":"connections are refused"`); n == 0 || held && n > 2 {
		t.Errorf("the log has %d lines about it:\n%s", n, s.Log())
	}
	if _, metrics := s.Get("/metrics"); !strings.Contains(metrics, `spambloom_control_refused_total{listener="control.listen",reason="user"} `) {
		t.Error("the metrics lack the refusals")
	}
}
