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
)

// Server judges the mail of any number of MTAs. Its methods are safe for
// concurrent use.
type Server struct {
	db       *bloomdb.DB
	options  atomic.Pointer[Options]
	metrics  *metrics
	judge    func(*message) Decision // judgeMessage
	turns    chan struct{}           // one for each message that is judged; see inTurn
	progress time.Duration           // between two progress packets

	stop    context.Context // ends when Shutdown begins
	drain   context.CancelFunc
	closing atomic.Bool    // connections without a message in flight are closed
	held    atomic.Int64   // bytes kept by all messages in flight
	running sync.WaitGroup // Serve calls, sessions, judgements

	mu        sync.Mutex // guards the two below; nothing is added to them once stop has ended
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}

	countFailed, acceptFailed, refusing throttle
	broken                              map[string]*throttle // by cause; see conn.report
}

// NewServer makes a server that asks db and counts in it.
func NewServer(db *bloomdb.DB, o Options) *Server {
	s := &Server{
		db:        db,
		metrics:   newMetrics(),
		turns:     make(chan struct{}, runtime.GOMAXPROCS(0)),
		progress:  10 * time.Second,
		listeners: map[net.Listener]struct{}{},
		conns:     map[*conn]struct{}{},
		broken:    map[string]*throttle{"connection": {}, "protocol": {}, "timeout": {}},
	}
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

// admit registers a new connection, or closes it and returns nil.
func (s *Server) admit(listener string, nc net.Conn) *conn {
	o := s.options.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping() {
		nc.Close()
		return nil
	}
	if len(s.conns) >= o.MaxConnections {
		nc.Close()
		s.metrics.refused.Inc()
		if s.refusing.allow() {
			o.Log.Error("milter connection refused: as many are open as milter.max_connections allows", "limit", o.MaxConnections)
		}
		return nil
	}
	c := newConn(nc, s)
	c.session.listener = listener
	s.conns[c] = struct{}{}
	s.running.Add(1)
	s.metrics.connections.Inc()
	return c
}

// release is the end of a session, called from its goroutine.
func (s *Server) release(c *conn) {
	c.session.drop()
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.metrics.connections.Dec()
	s.running.Done()
}
