package spamd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/door"
)

// Options determine the answers of a Server. The zero value of a field stands for its
// default.
type Options struct {
	// Scores are rounded to tenths, as clients see them. Mail is spam from Threshold on.
	Threshold float64 // default 5
	SpamScore float64 // of spam; default 10
	BulkScore float64 // of bulk

	MaxConnections          int // default 200; further connections wait, four times as many
	MaxConnectionsPerClient int // of one user, or from one address; default no limit

	ContentTimeout time.Duration // in which a request must arrive, and for which it may wait; default 5m
	WriteTimeout   time.Duration // in which a client must take the answer; default 30s

	// UserOf returns the user of this machine who connected, by whom connections are bounded;
	// nil: it is never known. As in milter.Options, an ordinary user is no MTA over TCP.
	UserOf door.UserOf

	// Tell reports or revokes a message. An Error is the answer to the client. nil: TELL is
	// refused.
	Tell func(context.Context, net.Conn, Tell) error

	Log *slog.Logger // default: discard
}

func (o Options) withDefaults() *Options {
	o.Threshold, o.SpamScore, o.BulkScore = tenths(cmp.Or(o.Threshold, 5)), tenths(cmp.Or(o.SpamScore, 10)), tenths(o.BulkScore)
	o.MaxConnections = cmp.Or(o.MaxConnections, 200)
	o.ContentTimeout = cmp.Or(o.ContentTimeout, 5*time.Minute)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &o
}

// limits returns the limits of the connections.
func (o *Options) limits() door.Limits {
	return door.Limits{Connections: o.MaxConnections, PerClient: o.MaxConnectionsPerClient, Waiting: waitingPerPlace * o.MaxConnections}
}

func tenths(score float64) float64 { return math.Round(10*score) / 10 }

// inflating is the memory for decompressing a message. Unit: bytes.
const inflating = 64 << 10

// Connections beyond the limits wait, because programs take a closed one for mail that is clean
// (Haraka). A waiting one is not read.
const (
	waitingPerPlace = 4        // connections that may wait, for each that may be open
	waitingMemory   = 16 << 10 // of each; unit: bytes
)

// MostMemory returns the most memory that a server with these options uses beside that of
// its milter.Server, whatever its clients do. Unit: bytes.
func (o Options) MostMemory() int64 {
	return int64(o.withDefaults().MaxConnections) * (milter.ConnectionMemory + inflating + waitingPerPlace*waitingMemory)
}

// Server answers spamd's clients. Its methods are safe for concurrent use.
type Server struct {
	judge   *milter.Server
	options atomic.Pointer[Options]
	metrics *metrics

	door *door.Door

	inflating chan struct{} // the place of the message that is decompressed

	mu     sync.Mutex
	logged map[string]time.Time // when a cause was last logged; guarded by mu
}

// NewServer returns a server that judges mail by judge.
func NewServer(judge *milter.Server, o Options) *Server {
	d := door.New()
	s := &Server{judge: judge, metrics: newMetrics(d), door: d, logged: map[string]time.Time{}, inflating: make(chan struct{}, 1)}
	s.Reload(o)
	return s
}

// Reload sets new options. They apply from each connection's beginning on; the limits apply to those that
// wait, too.
func (s *Server) Reload(o Options) {
	options := o.withDefaults()
	s.options.Store(options)
	s.door.Limit(options.limits())
}

// acceptPause is how long Serve waits after a failure to accept.
const acceptPause = 100 * time.Millisecond

// Serve accepts clients on ln until Shutdown, then returns nil. It closes ln. Policies refer
// to the listener by name.
func (s *Server) Serve(name string, ln net.Listener) error {
	defer ln.Close()
	if !s.door.Enter(ln) {
		return nil
	}
	defer s.door.Leave(ln)
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			if c := s.admit(name, nc); c != nil {
				go func() { defer s.release(c); c.serve() }()
			}
		case s.door.IsStopping():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("spamd: accept on %s: %w", ln.Addr(), err)
		default:
			s.report("accept", "accept failed, trying again", "listen", ln.Addr().String(), "error", err)
			if !s.door.Pause(acceptPause) {
				return nil
			}
		}
	}
}

// admit registers a connection, or closes it and returns nil.
func (s *Server) admit(listener string, nc net.Conn) *conn {
	o := s.options.Load()
	client, isUser := door.Client(nc, o.UserOf, s.judge.IsMTA)
	o = s.options.Load() // looking up the user takes time, and Admit puts the limits in force
	admitted, refused := s.door.Admit(nc, client, o.limits())
	if refused != nil {
		admitted = s.queue(nc, client, refused)
	}
	if admitted == nil {
		nc.Close()
		return nil
	}
	s.metrics.connections.Inc()
	c := newConn(s, o, listener, client, admitted)
	c.isUser = isUser
	return c
}

// queue lets a connection beyond a limit wait, or counts it as refused and returns nil.
func (s *Server) queue(nc net.Conn, client string, refused *door.Refusal) *door.Conn {
	waiting := s.door.Queue(nc, client)
	if waiting != nil {
		s.report("waiting", "spamd connection waits: limit reached", "reason", refused.Reason, "limit", refused.Limit, "of", client)
		return waiting
	}
	s.metrics.refused.WithLabelValues(refused.Reason).Inc()
	s.report(refused.Reason, "spamd connection refused: limit reached, and too many wait", "reason", refused.Reason, "limit", refused.Limit, "of", client)
	return nil
}

// release ends a connection.
func (s *Server) release(c *conn) {
	c.nc.Close()
	s.metrics.connections.Dec()
	c.nc.Release()
}

// report logs a line once a minute for each cause. Causes are constants of the package.
func (s *Server) report(cause, line string, attrs ...any) {
	s.mu.Lock()
	now := time.Now()
	last, ok := s.logged[cause]
	logs := !ok || now.Sub(last) >= time.Minute
	if logs {
		s.logged[cause] = now
	}
	s.mu.Unlock()
	if logs {
		s.options.Load().Log.Warn(line, attrs...)
	}
}

// Shutdown stops accepting, closes the connections that have sent no request, after three seconds
// those that have sent a part of one, lets the others finish theirs, and cuts the rest when ctx ends. It
// returns when all goroutines have ended: nil, or ctx's error if it had to cut.
func (s *Server) Shutdown(ctx context.Context) error { return s.door.Shutdown(ctx, 0) }
