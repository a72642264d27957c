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
	"github.com/spambloom/spambloom/signature"
)

// Server judges the mail of any number of MTAs. Its methods are safe for
// concurrent use.
type Server struct {
	db       *bloomdb.DB
	options  atomic.Pointer[Options]
	metrics  *metrics
	judge    func(*message) Decision                                    // judgeMessage
	sign     func(signature.Message, signature.Unpacking) signature.Set // signature.ComputeWith
	turns    *turns
	health   *health
	progress time.Duration // between two progress packets

	stop    context.Context // ends when Shutdown begins
	drain   context.CancelFunc
	closing atomic.Bool    // connections without a message in flight are closed
	held    atomic.Int64   // bytes kept by all messages in flight
	spilled atomic.Int64   // bytes of them in temporary files
	packets atomic.Int64   // bytes of the packets that are read, unless they are in held
	running sync.WaitGroup // Serve calls, sessions, judgements

	mu        sync.Mutex // guards the three below; nothing is added to them once stop has ended
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	clients   map[string]int // connections of each; see clientOf

	countFailed, acceptFailed, overloaded, spillFault, setBack throttle
	refusing, broken, spates                                   map[string]*throttle // by cause
}

// NewServer makes a server that asks db and counts in it.
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

// Serve accepts MTAs on ln until Shutdown, then returns nil. It closes ln. It
// may run for several listeners at once. Overrides and allow rules know the listener
// by its name.
func (s *Server) Serve(name string, ln net.Listener) error {
	s.mu.Lock()
	stopped := s.stopping()
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
	if s.stopping() {
		return nil
	}
	return fmt.Errorf("milter: accept on %s: %w", ln.Addr(), err)
}

func (s *Server) stopping() bool { return s.stop.Err() != nil }

// arriving is how long Shutdown goes on reading connections without a message in
// flight: the begin of a message may have been sent and not been read, since MTAs
// do not wait for answers to it.
const arriving = 250 * time.Millisecond

// Shutdown stops accepting, closes the connections without a message in flight
// after a quarter of a second, lets the others finish their message, and cuts
// what is left when ctx ends. It returns when all goroutines have ended: nil, or
// ctx's error if it had to cut. An idle connection is an SMTP session that may go
// on for minutes, so it is not waited for.
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

// Why a connection is refused, as log and metric name it.
const (
	refusedConnections = "connections" // as many are open as Options.MaxConnections allows
	refusedClient      = "client"      // its client has as many as Options.MaxConnectionsPerClient allows
)

// clientOf is whose connections are counted together: those from an MTA's address, all
// from this machine over TCP, which has many addresses for that, or all on a unix socket.
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
	return o.CountRecipients && (!isTCP || o.rules.counting.contain(a.AddrPort().Addr().Unmap().WithZone("")))
}

// admit registers a new connection, or closes it and returns nil.
func (s *Server) admit(listener string, nc net.Conn) *conn {
	o, client := s.options.Load(), clientOf(nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping():
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

// refuse closes a connection that is one too many. Who sees it closed finds it counted.
func (s *Server) refuse(nc net.Conn, reason, key string, limit int) {
	defer nc.Close()
	s.metrics.refused.WithLabelValues(reason).Inc()
	if s.refusing[reason].allow() {
		s.options.Load().Log.Error("milter connection refused: as many are open as "+key+" allows",
			"limit", limit, "remote", nc.RemoteAddr().String())
	}
}

// release is the end of a session, called from its goroutine.
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
