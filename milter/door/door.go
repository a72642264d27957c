package door

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Door contains the listeners and connections of one server. Its methods are safe for
// concurrent use.
type Door struct {
	stop      context.Context // ends when Shutdown begins
	drain     context.CancelFunc
	isClosing atomic.Bool    // idle connections are closed
	running   sync.WaitGroup // listeners, connections, other work

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*Conn]struct{} // those that have a place
	clients   map[string]int     // number of their connections
	waiting   []*Conn            // for a place, the first one longest
	limits    Limits             // in force
}

// Conn is a connection that was admitted, or waits for its place.
type Conn struct {
	net.Conn
	Busy   atomic.Bool // Shutdown lets it finish
	Begun  atomic.Bool // what it is busy with has begun to arrive, and no longer depends on a client of the other side
	door   *Door
	client string
	placed chan struct{} // closed when it has a place; nil: it has had one since it was admitted

	reading sync.Mutex
	since   time.Time
	until   func(since time.Time) (a, b time.Time) // of the pending read; nil: none has begun
}

// New returns a door without listeners.
func New() *Door {
	d := &Door{listeners: map[net.Listener]struct{}{}, conns: map[*Conn]struct{}{}, clients: map[string]int{}}
	d.stop, d.drain = context.WithCancel(context.Background())
	return d
}

// IsStopping reports whether Shutdown has begun.
func (d *Door) IsStopping() bool { return d.stop.Err() != nil }

// IsClosing reports whether Shutdown has begun to close idle connections. A connection that
// becomes idle then must end.
func (d *Door) IsClosing() bool { return d.isClosing.Load() }

// Enter registers a listener, which Shutdown closes. It returns false if Shutdown has begun.
func (d *Door) Enter(ln net.Listener) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.IsStopping() {
		return false
	}
	d.listeners[ln] = struct{}{}
	d.running.Add(1)
	return true
}

// Leave forgets a listener that Enter has registered.
func (d *Door) Leave(ln net.Listener) {
	d.mu.Lock()
	delete(d.listeners, ln)
	d.mu.Unlock()
	d.running.Done()
}

// Begin registers work that Shutdown waits for until End. It returns false if Shutdown has
// begun.
func (d *Door) Begin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.IsStopping() {
		return false
	}
	d.running.Add(1)
	return true
}

// End ends work that Begin has registered.
func (d *Door) End() { d.running.Done() }

// Go starts a goroutine that Shutdown waits for. The caller is registered itself.
func (d *Door) Go(work func()) { d.running.Go(work) }

// Pause waits, for example before accepting again. It returns false if Shutdown has begun.
func (d *Door) Pause(wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-d.stop.Done():
		return false
	}
}

// Reasons for refusing a connection, as in log and metric.
const (
	ReasonConnections = "connections" // as many as allowed are open
	ReasonClient      = "client"      // as many as allowed of its client are open
)

// Limits bound the connections.
type Limits struct {
	Connections int
	PerClient   int // 0: no limit
	Waiting     int // may wait for a place; one client has at most half of what others leave
}

// forClient returns how many connections a client may have while others have so many. If
// PerClient is at most half of all, it is also at most half of what the others leave: two clients,
// who may be one person (subuid(5)), would have all places otherwise.
func (l Limits) forClient(others int) int {
	if 2*l.PerClient > l.Connections {
		return l.PerClient
	}
	return min(l.PerClient, max(1, (l.Connections-others)/2))
}

// Refusal is the limit for which a connection is refused.
type Refusal struct {
	Reason string
	Limit  int
}

// UserOf returns the user of this machine who opened a connection, or "" if it is not known, and whether
// that is an ordinary user rather than a daemon's.
type UserOf func(net.Conn) (user string, isOrdinary bool)

// Client returns the client under which a connection is counted: the user whom userOf names;
// else another machine's address, this machine for all its addresses, or a unix socket's path. An
// IPv6 network of 64 bits, all of which one machine can use, is one client, except for the addresses
// that isMTA reports. It also reports whether the client is an ordinary user who reached a TCP
// port, and so no MTA. Both functions may be nil.
func Client(nc net.Conn, userOf UserOf, isMTA func(netip.Addr) bool) (client string, isUser bool) {
	var addr netip.Addr
	a, isTCP := nc.RemoteAddr().(*net.TCPAddr)
	if isTCP {
		addr = a.AddrPort().Addr().Unmap().WithZone("")
	}
	isKnownMTA := isTCP && isMTA != nil && isMTA(addr)
	if userOf != nil {
		if user, isOrdinary := userOf(nc); user != "" {
			return user, isOrdinary && isTCP && !isKnownMTA
		}
	}
	switch {
	case !isTCP:
		return nc.LocalAddr().String(), false
	case addr.IsLoopback():
		return "loopback", false
	case addr.Is6() && !isKnownMTA:
		network, _ := addr.Prefix(64) // a valid address has one
		return network.String(), false
	}
	return addr.String(), false
}

// Admit registers a connection of a client until Release, within limits that are in force from now on.
// Otherwise it returns nil, and a Refusal unless Shutdown has begun; the caller closes nc.
func (d *Door) Admit(nc net.Conn, client string, l Limits) (*Conn, *Refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.IsStopping() {
		return nil, nil
	}
	d.limit(l)
	c := &Conn{Conn: nc, door: d, client: client}
	if refused := d.place(c); refused != nil {
		return nil, refused
	}
	d.running.Add(1)
	return c, nil
}

// Limit sets new limits, by which connections that wait may have a place at once.
func (d *Door) Limit(l Limits) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limit(l)
}

// limit is Limit. d.mu is held.
func (d *Door) limit(l Limits) {
	if l != d.limits {
		d.limits = l
		d.fill()
	}
}

// place gives a connection a place, or names the limit that is reached. d.mu is held.
func (d *Door) place(c *Conn) *Refusal {
	l, own := d.limits, d.clients[c.client]
	most := l.forClient(len(d.conns) - own)
	switch {
	case len(d.conns) >= l.Connections:
		return &Refusal{ReasonConnections, l.Connections}
	case l.PerClient > 0 && own >= most:
		return &Refusal{ReasonClient, most}
	}
	d.conns[c] = struct{}{}
	d.clients[c.client]++
	return nil
}

// Queue registers a connection that Admit has refused, until Release: it waits for its place behind
// those of its client that came before (Conn.Wait). It returns nil if as many as allowed wait, or if
// Shutdown has begun; the caller closes nc.
func (d *Door) Queue(nc net.Conn, client string) *Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := 0
	for _, c := range d.waiting {
		if c.client == client {
			own++
		}
	}
	if others := len(d.waiting) - own; d.IsStopping() || own >= (d.limits.Waiting-others)/2 {
		return nil
	}
	c := &Conn{Conn: nc, door: d, client: client, placed: make(chan struct{})}
	d.waiting = append(d.waiting, c)
	d.running.Add(1)
	d.fill()
	return c
}

// fill gives places to those that wait. d.mu is held.
func (d *Door) fill() {
	d.waiting = slices.DeleteFunc(d.waiting, func(c *Conn) bool {
		if d.IsStopping() || d.place(c) != nil {
			return false
		}
		close(c.placed)
		return true
	})
}

// Wait waits until the connection has a place. It returns false if ctx ends or Shutdown begins before.
func (c *Conn) Wait(ctx context.Context) bool {
	if c.placed == nil {
		return true
	}
	select {
	case <-c.placed:
		return true
	case <-c.door.stop.Done():
	case <-ctx.Done():
	}
	return false
}

// Release forgets a connection, and gives its place to one that waits. It is the last call for it, and
// does not close it.
func (c *Conn) Release() {
	d := c.door
	d.mu.Lock()
	if _, ok := d.conns[c]; ok {
		delete(d.conns, c)
		if d.clients[c.client]--; d.clients[c.client] == 0 {
			delete(d.clients, c.client)
		}
		d.fill()
	} else {
		d.waiting = slices.DeleteFunc(d.waiting, func(o *Conn) bool { return o == c })
	}
	d.mu.Unlock()
	d.running.Done()
}

// ReadUntil sets the deadline of a read that begins now: the earlier one of two times, which Renew asks for
// again.
func (c *Conn) ReadUntil(until func(now time.Time) (a, b time.Time)) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.since, c.until = time.Now(), until
	c.setDeadline()
}

// setDeadline sets the deadline of the pending read. c.reading is held.
func (c *Conn) setDeadline() {
	a, b := c.until(c.since)
	if b.Before(a) {
		a = b
	}
	c.SetReadDeadline(a) // the read returns the error
}

// Renew sets the deadlines of pending reads again, after a change of what they depend on.
func (d *Door) Renew() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.conns {
		c.reading.Lock()
		if c.until != nil {
			c.setDeadline()
		}
		c.reading.Unlock()
	}
}

// Connections returns the number of connections that have a place.
func (d *Door) Connections() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.conns)
}

// Waiting returns the number of connections that wait for a place.
func (d *Door) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting)
}

// beginning is how long Shutdown waits for what has not begun to arrive. Its client may be silent for as
// long as it likes, and no mail is judged meanwhile.
const beginning = 3 * time.Second

// Shutdown closes the listeners, after grace the connections that are not busy, and three seconds later
// the busy ones that have not begun. It lets the others finish, and cuts the rest when ctx ends. It
// returns when all registered work has ended: nil, or ctx's error if it had to cut.
func (d *Door) Shutdown(ctx context.Context, grace time.Duration) error {
	d.mu.Lock()
	d.drain()
	for ln := range d.listeners {
		ln.Close()
	}
	d.mu.Unlock()

	ended := make(chan struct{})
	go func() { d.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-time.After(grace):
	case <-ctx.Done():
	}
	d.isClosing.Store(true)
	d.cut(func(c *Conn) bool { return !c.Busy.Load() })
	select {
	case <-ended:
		return nil
	case <-time.After(beginning):
		d.cut(func(c *Conn) bool { return !c.Begun.Load() })
	case <-ctx.Done():
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	d.cut(func(*Conn) bool { return true })
	<-ended
	return ctx.Err()
}

// cut closes the connections that match.
func (d *Door) cut(match func(*Conn) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.conns {
		if match(c) {
			c.Conn.Close()
		}
	}
}
