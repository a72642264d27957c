package milter

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	gomilter "github.com/emersion/go-milter"
	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

// signer is signature.ComputeWith.
type signer func(m signature.Message, unpacking signature.Unpacking, stop <-chan struct{}) signature.Set

// Server judges the mail of any number of MTAs. Its methods are safe for
// concurrent use.
type Server struct {
	db       *bloomdb.DB
	options  atomic.Pointer[Options]
	metrics  *metrics
	judge    func(*message) policy.Decision // judgeMessage
	sign     signer
	turns    *turns
	health   *health
	progress time.Duration // between two progress packets

	stop    context.Context // ends when Shutdown begins
	drain   context.CancelFunc
	closing atomic.Bool    // connections without a message in flight are closed
	held    atomic.Int64   // bytes kept by all messages in flight
	spilled atomic.Int64   // bytes of messages in flight in temporary files
	packets atomic.Int64   // bytes of packets being read, except those in held
	running sync.WaitGroup // Serve calls, sessions, judgements

	mu        sync.Mutex // guards the three below; nothing is added to them after stop
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	clients   map[string]int // number of connections; see clientOf

	countFailed, acceptFailed, overloaded, spillFault, setBack throttle
	refusing, broken, spates                                   map[string]*throttle // by cause
}

// NewServer returns a server that judges and counts mail in db.
func NewServer(db *bloomdb.DB, o Options) *Server {
	s := &Server{
		db:        db,
		metrics:   newMetrics(),
		health:    newHealth(),
		progress:  10 * time.Second,
		sign:      signature.ComputeWith,
		listeners: map[net.Listener]struct{}{},
		conns:     map[*conn]struct{}{},
		clients:   map[string]int{},
		refusing:  throttles(refusedConnections, refusedClient),
		broken:    throttles("connection", "protocol", "memory", "timeout"),
		spates:    throttles(causes...),
	}
	s.turns = newTurns(runtime.GOMAXPROCS(0), s.running.Go)
	s.judge = s.judgeMessage
	s.stop, s.drain = context.WithCancel(context.Background())
	s.Reload(o)
	return s
}

// Reload sets new options. They apply from each connection's next message on.
func (s *Server) Reload(o Options) { s.options.Store(o.withDefaults()) }

// Serve accepts MTAs on ln until Shutdown, then returns nil. It closes ln. Several calls
// may run at once. Overrides and allow rules refer to the listener by name.
func (s *Server) Serve(name string, ln net.Listener) error {
	s.mu.Lock()
	stopped := s.isStopping()
	if !stopped {
		s.listeners[ln] = struct{}{}
		s.running.Add(1)
	}
	s.mu.Unlock()
	if stopped {
		return ln.Close()
	}
	defer s.running.Done()

	l := &listener{Listener: ln, name: name, server: s}
	err := (&gomilter.Server{NewMilter: l.newMilter}).Serve(l)
	s.mu.Lock()
	delete(s.listeners, ln)
	s.mu.Unlock()
	if s.isStopping() {
		return nil
	}
	return fmt.Errorf("milter: accept on %s: %w", ln.Addr(), err)
}

func (s *Server) isStopping() bool { return s.stop.Err() != nil }

// arriving is how long Shutdown continues to read connections without a message in flight.
// The beginning of a message may have been sent but not read, because MTAs do not wait for
// answers to it.
const arriving = 250 * time.Millisecond

// Shutdown stops accepting, closes the connections without a message in flight after a
// quarter of a second, lets the others finish their message, and cuts the rest when ctx
// ends. It returns when all goroutines have ended: nil, or ctx's error if it had to cut. It
// does not wait for idle connections, because their SMTP sessions may last for minutes.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.drain()
	for ln := range s.listeners {
		ln.Close()
	}
	s.mu.Unlock()

	ended := make(chan struct{})
	go func() { s.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-time.After(arriving):
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.closing.Store(true)
	s.cut(func(c *conn) bool { return !c.busy.Load() })
	s.mu.Unlock()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.cut(func(*conn) bool { return true })
	s.mu.Unlock()
	<-ended
	return ctx.Err()
}

// cut closes the connections that match. The caller holds mu.
func (s *Server) cut(match func(*conn) bool) {
	for c := range s.conns {
		if match(c) {
			c.cut()
		}
	}
}

// Reasons for refusing a connection, as in log and metric.
const (
	refusedConnections = "connections" // Options.MaxConnections are open
	refusedClient      = "client"      // its client has Options.MaxConnectionsPerClient open
)

// clientOf returns the client under which a connection is counted: an MTA's address; this
// machine, for all its addresses over TCP; or the path of a unix socket.
func clientOf(nc net.Conn) string {
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		addr := a.AddrPort().Addr().Unmap().WithZone("")
		if addr.IsLoopback() {
			return "loopback"
		}
		return addr.String()
	}
	return nc.LocalAddr().String()
}

// countsRecipients reports whether a message counts once for each recipient that the MTA
// at remote names.
func (o *Options) countsRecipients(remote net.Addr) bool {
	a, isTCP := remote.(*net.TCPAddr)
	return o.CountRecipients && (!isTCP || o.rules.IsCounting(a.AddrPort().Addr().Unmap().WithZone("")))
}

// admit registers a new connection, or closes it and returns nil.
func (s *Server) admit(listener string, nc net.Conn) *conn {
	o, client := s.options.Load(), clientOf(nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isStopping():
		nc.Close()
		return nil
	case len(s.conns) >= o.MaxConnections:
		s.refuse(nc, refusedConnections, "milter.max_connections", o.MaxConnections)
		return nil
	case o.MaxConnectionsPerClient > 0 && s.clients[client] >= o.MaxConnectionsPerClient:
		s.refuse(nc, refusedClient, "milter.max_connections_per_client", o.MaxConnectionsPerClient)
		return nil
	}
	c := newConn(nc, s)
	c.client = client
	c.session.listener = listener
	s.conns[c] = struct{}{}
	s.clients[client]++
	s.running.Add(1)
	s.metrics.connections.Inc()
	return c
}

// refuse counts, then closes a connection beyond a limit. A client that sees the connection
// closed therefore finds it counted.
func (s *Server) refuse(nc net.Conn, reason, key string, limit int) {
	defer nc.Close()
	s.metrics.refused.WithLabelValues(reason).Inc()
	if s.refusing[reason].allow() {
		s.options.Load().Log.Error("milter connection refused: limit "+key+" reached",
			"limit", limit, "remote", nc.RemoteAddr().String())
	}
}

// release ends a session. It is called from the session's goroutine.
func (s *Server) release(c *conn) {
	c.session.drop()
	c.dropBuffer()
	s.mu.Lock()
	delete(s.conns, c)
	if s.clients[c.client]--; s.clients[c.client] == 0 {
		delete(s.clients, c.client)
	}
	s.mu.Unlock()
	s.metrics.connections.Dec()
	s.running.Done()
}
