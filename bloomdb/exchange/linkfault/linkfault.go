// Package linkfault is a proxy for tests: it stands between a client and a server
// and breaks the link between them in the ways in which networks do.
package linkfault

import (
	"net"
	"sync"
	"time"
)

// Fault is what happens to all connections, present and later ones. The zero value
// is a link that works.
type Fault struct {
	// Refuse closes new connections at once, as a host does on which nobody
	// listens.
	Refuse bool

	// Stall holds what is sent, both ways, until the fault is over. Nothing is
	// lost then: a network that came back before TCP gave up.
	Stall bool

	// StallDown is Stall for what the server sends only: commands arrive, their
	// answers do not.
	StallDown bool

	// Delay is how long every byte is on its way, each way.
	Delay time.Duration

	// CutAfter, if positive, resets every connection after so many more bytes from
	// the server, wherever in an answer that is.
	CutAfter int64
}

// Proxy passes connections on. Its methods may be called by any goroutine.
type Proxy struct {
	listener net.Listener
	network  string
	target   string
	wg       sync.WaitGroup

	mu      sync.Mutex // guards all below
	fault   Fault
	closed  bool
	changed chan struct{} // closed and replaced when fault changes
	pairs   map[*pair]struct{}
	up      int64
	down    int64
}

// Start listens on a free port of loopback. Network and target are the server's,
// as net.Dial takes them.
func Start(network, target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, network: network, target: target, changed: make(chan struct{}), pairs: make(map[*pair]struct{})}
	p.wg.Go(p.serve)
	return p, nil
}

// Addr is HOST:PORT of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends the proxy and all its connections.
func (p *Proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Reset()
	p.wg.Wait()
}

// Set replaces the fault.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	close(p.changed)
	p.changed = make(chan struct{})
	for c := range p.pairs {
		c.left = f.CutAfter
	}
}

// Reset ends all connections of now; both ends are told (RST).
func (p *Proxy) Reset() {
	for _, c := range p.take() {
		c.end()
	}
}

// HalfOpen ends all connections of now towards the server and tells the client
// nothing: what it sends is swallowed, and no answer comes. So does a firewall
// that forgot a connection, or a server whose power failed.
func (p *Proxy) HalfOpen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.deaf = true
		c.server.Close()
	}
}

// Bytes says how much came from clients and from the server so far.
func (p *Proxy) Bytes() (up, down int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up, p.down
}

// take empties the table of connections.
func (p *Proxy) take() []*pair {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*pair
	for c := range p.pairs {
		all = append(all, c)
	}
	clear(p.pairs)
	return all
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse := p.fault.Refuse
		p.mu.Unlock()
		if refuse {
			abort(client)
			continue
		}
		server, err := net.Dial(p.network, p.target)
		if err != nil {
			abort(client)
			continue
		}
		p.join(&pair{client: client, server: server, ended: make(chan struct{})})
	}
}

// join passes on what two ends send, until one of them has ended.
func (p *Proxy) join(c *pair) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		c.end()
		return
	}
	c.left = p.fault.CutAfter
	p.pairs[c] = struct{}{}
	p.mu.Unlock()
	for _, d := range []*direction{
		{Proxy: p, pair: c, from: c.client, to: c.server},
		{Proxy: p, pair: c, from: c.server, to: c.client, down: true},
	} {
		d.chunks = make(chan chunk, 256)
		p.wg.Go(d.read)
		p.wg.Go(d.write)
	}
}
