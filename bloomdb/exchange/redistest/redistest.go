// Package redistest starts real Redis servers for tests, miniredis, and a link that swallows
// data. A server ends with the test, even if that is killed.
package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Program is a process that ends with this one, even if this one is killed.
type Program struct {
	*exec.Cmd
	ended chan struct{}
}

// StartProgram starts one.
func StartProgram(t testing.TB, args ...string) *Program {
	t.Helper()
	p := &Program{exec.Command(args[0], args[1:]...), make(chan struct{})}
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		defer close(p.ended)
		runtime.LockOSThread() // the kernel sends Pdeathsig when the thread ends
		defer runtime.UnlockOSThread()
		err := p.Start()
		started <- err
		if err == nil {
			_ = p.Wait() // it was killed
		}
	}()
	testenv.Check(t, <-started)
	return p
}

// Kill is kill -9. It waits for the end.
func (p *Program) Kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.ended
}

// Server is a real redis-server on a unix socket in a folder of its own.
type Server struct {
	t       testing.TB
	dir     string
	args    []string
	running *Program // nil: killed
}

// Start starts one, without persistence unless args say otherwise.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	path, dir := testenv.Program(t, "redis-server"), testenv.Dir(t)
	s := &Server{t: t, dir: dir, args: append([]string{path, "--port", "0", "--unixsocket", filepath.Join(dir, "s"),
		"--dir", dir, "--save", "", "--appendonly", "no", "--logfile", "log"}, args...)}
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

// Start starts a server again that was killed.
func (s *Server) Start() {
	s.t.Helper()
	s.running = StartProgram(s.t, s.args...)
	c := s.Client()
	defer c.Close()
	testenv.Eventually(s.t, "redis-server answers", func() bool {
		select {
		case <-s.running.ended:
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			s.t.Fatalf("redis-server has ended: %s", log)
		default:
		}
		return c.Ping(s.t.Context()).Err() == nil
	})
}

// Kill is kill -9.
func (s *Server) Kill() {
	if s.running != nil {
		s.running.Kill()
		s.running = nil
	}
}

// Signal sends a signal.
func (s *Server) Signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.running.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Socket returns the path of the socket, and URL its URL.
func (s *Server) Socket() string { return filepath.Join(s.dir, "s") }
func (s *Server) URL() string    { return "unix://" + s.Socket() }

// Client returns a client that the caller closes.
func (s *Server) Client() *redisclient.Client {
	s.t.Helper()
	c, err := redisclient.Dial(s.URL()+Patient, redisclient.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// Mini starts a miniredis and a client for it.
func Mini(t testing.TB) (*miniredis.Miniredis, *redisclient.Client) {
	t.Helper()
	m := miniredis.RunT(t)
	return m, Dial(t, "redis://"+m.Addr()+Patient)
}

// Patient is for clients of the test itself, which must not depend on the machine's speed.
var Patient = fmt.Sprintf("?read_timeout=%[1]v&write_timeout=%[1]v&pool_timeout=%[1]v", testenv.Patience)

// Dial returns a client that is closed when the test ends.
func Dial(t testing.TB, url string) *redisclient.Client {
	t.Helper()
	c, err := redisclient.Dial(url, redisclient.Options{})
	testenv.Check(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}
