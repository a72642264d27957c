package exchange

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/spambloom/spambloom/cmd/testenv"
)

var discard = slog.New(slog.DiscardHandler)

// program is a process that ends with this one, even if this one is killed.
type program struct {
	*exec.Cmd
	ended chan struct{}
}

func startProgram(t testing.TB, args ...string) *program {
	t.Helper()
	p := &program{exec.Command(args[0], args[1:]...), make(chan struct{})}
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
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *program) kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.ended
}

// server is a real redis-server on a unix socket in a folder of its own.
type server struct {
	t       testing.TB
	dir     string
	args    []string
	running *program // nil: killed
}

// startRedis starts one, without persistence unless args say otherwise.
func startRedis(t testing.TB, args ...string) *server {
	t.Helper()
	path, dir := testenv.Program(t, "redis-server"), testenv.Dir(t)
	s := &server{t: t, dir: dir, args: append([]string{path, "--port", "0", "--unixsocket", filepath.Join(dir, "s"),
		"--dir", dir, "--save", "", "--appendonly", "no", "--logfile", "log"}, args...)}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *server) start() {
	s.t.Helper()
	s.running = startProgram(s.t, s.args...)
	c := s.client()
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

// kill is kill -9.
func (s *server) kill() {
	if s.running != nil {
		s.running.kill()
		s.running = nil
	}
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.running.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) socket() string { return filepath.Join(s.dir, "s") }
func (s *server) url() string    { return "unix://" + s.socket() }

func (s *server) client() *Client {
	s.t.Helper()
	c, err := Dial(s.url()+patient, DialOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// proxy stands between a client and a Redis. It can swallow data, like a firewall that
// dropped the connection without notice.
type proxy struct {
	listener net.Listener
	network  string
	target   string
	hole     atomic.Int64 // connections up to this number are swallowed
	closed   atomic.Bool  // new connections are refused
	accepted atomic.Int64

	wg    sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
}

func startProxy(t testing.TB, network, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, network: network, target: target}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.reset()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) url() string { return "redis://" + p.listener.Addr().String() }

// swallow makes all current connections drop their data; later ones work.
func (p *proxy) swallow() { p.hole.Store(p.accepted.Load()) }

// swallowAll also affects later connections.
func (p *proxy) swallowAll() { p.hole.Store(1 << 62) }

func (p *proxy) heal() { p.reset(); p.hole.Store(0) }

// reset closes all connections.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial(p.network, p.target)
		if err != nil {
			c.Close()
			continue
		}
		p.mu.Lock()
		if p.closed.Load() { // under mu: reset sees all earlier connections
			p.mu.Unlock()
			c.Close()
			up.Close()
			continue
		}
		n := p.accepted.Add(1)
		p.conns = append(p.conns, c, up)
		p.mu.Unlock()
		p.wg.Go(func() { p.copy(n, up, c) })
		p.wg.Go(func() { p.copy(n, c, up) })
	}
}

func (p *proxy) copy(n int64, to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		k, err := from.Read(buf)
		if n > p.hole.Load() {
			if _, werr := to.Write(buf[:k]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// startMini starts a miniredis and a client for it.
func startMini(t testing.TB) (*miniredis.Miniredis, *Client) {
	t.Helper()
	m := miniredis.RunT(t)
	return m, dialed(t, "redis://"+m.Addr()+patient)
}

// patient is for clients of the test itself, which must not depend on the machine's speed.
var patient = fmt.Sprintf("?read_timeout=%[1]v&write_timeout=%[1]v&pool_timeout=%[1]v", testenv.Patience)

func dialed(t testing.TB, url string) *Client {
	t.Helper()
	c, err := Dial(url, DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
