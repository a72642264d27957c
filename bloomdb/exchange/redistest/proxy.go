package redistest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// Proxy stands between a client and a Redis. It can swallow data, like a firewall that
// dropped the connection without notice.
type Proxy struct {
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

// StartProxy starts one before a target.
func StartProxy(t testing.TB, network, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	p := &Proxy{listener: l, network: network, target: target}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.Reset()
		p.wg.Wait()
	})
	return p
}

// URL returns the URL of the proxy.
func (p *Proxy) URL() string { return "redis://" + p.listener.Addr().String() }

// Swallow makes all current connections drop their data; later ones work.
func (p *Proxy) Swallow() { p.hole.Store(p.accepted.Load()) }

// SwallowAll also affects later connections.
func (p *Proxy) SwallowAll() { p.hole.Store(1 << 62) }

// Heal makes all connections work again.
func (p *Proxy) Heal() { p.Reset(); p.hole.Store(0) }

// Refuse makes the proxy refuse new connections, or accept them again.
func (p *Proxy) Refuse(refuse bool) { p.closed.Store(refuse) }

// Reset closes all connections.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *Proxy) serve() {
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

func (p *Proxy) copy(n int64, to, from net.Conn) {
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
