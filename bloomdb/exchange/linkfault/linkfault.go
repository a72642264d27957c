// Package linkfault is a proxy for tests. It stands between a client and a server and
// breaks their link in the ways networks do.
package linkfault

import (
	"net"
	"sync"
	"time"
)

// Fault affects all connections, present and later ones. The zero value is a working link.
type Fault struct {
	// Refuse closes new connections at once, like a host without a listener.
	Refuse bool

	// Stall holds data in both directions until the fault ends. Nothing is lost then: the
	// network recovered before TCP gave up.
	Stall bool

	// StallDown is Stall only for data from the server: commands arrive, their answers do
	// not.
	StallDown bool

	// Delay is how long every byte takes in each direction.
	Delay time.Duration

	// CutAfter, if positive, resets every connection after that many further bytes from the
	// server, wherever in an answer that is.
	CutAfter int64
}

// Proxy forwards connections. Its methods are safe for concurrent use.
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

// Start listens on a free port of loopback. Network and target are the server's, as for
// net.Dial.
func Start(network, target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, network: network, target: target, changed: make(chan struct{}), pairs: make(map[*pair]struct{})}
	p.wg.Go(p.serve)
	return p, nil
}

// Addr returns HOST:PORT of the proxy.
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

// Reset resets all current connections on both sides (RST).
func (p *Proxy) Reset() {
	for _, c := range p.take() {
		c.end()
	}
}

// HalfOpen closes the server side of all current connections without notifying the client:
// its data is swallowed, and no answer comes. A firewall that lost its state behaves like
// this, or a server whose power failed.
func (p *Proxy) HalfOpen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.deaf = true
		c.server.Close()
	}
}

// Bytes returns how many bytes clients and the server have sent so far.
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

// join forwards data between two ends until one of them closes.
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
