package milter

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	gomilter "github.com/emersion/go-milter"
	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/health"
	"github.com/spambloom/spambloom/milter/metrics"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/room"
	"github.com/spambloom/spambloom/milter/spill"
	"github.com/spambloom/spambloom/milter/throttle"
	"github.com/spambloom/spambloom/milter/turns"
	"github.com/spambloom/spambloom/signature"
)

// signer is signature.ComputeWith.
type signer func(m signature.Message, unpacking signature.Unpacking, stop <-chan struct{}) signature.Set

// Server judges the mail of any number of MTAs. Its methods are safe for
// concurrent use.
type Server struct {
	db       *bloomdb.DB
	options  atomic.Pointer[Options]
	metrics  *metrics.Metrics
	judge    func(*message) policy.Decision // judgeMessage
	sign     signer
	turns    *turns.Turns
	health   *health.Health
	progress time.Duration // between two progress packets
	quantum  time.Duration // of a message's turn

	door    *door.Door
	clients room.Clients
	held    room.Room // bytes kept by all messages in flight
	spilled room.Room // bytes of messages in flight in temporary files
	disk    *spill.Disk
	packets atomic.Int64 // bytes of packets being read, except those in held

	countFailed, acceptFailed, overloaded, spillFault, setBack throttle.Throttle
	refusing, broken, spates                                   map[string]*throttle.Throttle // by cause
}

// labels are the labels of the metrics.
var labels = metrics.Labels{
	Causes: causes,
	Stages: []string{stageOffer, stageIdle, stageEnvelope, stageContent, stagePacket, stageWrite, stageConnection},
	Parts:  []string{overMessage, overMemory, overTurn},
}

// NewServer returns a server that judges and counts mail in db.
func NewServer(db *bloomdb.DB, o Options) *Server {
	s := &Server{
		db:       db,
		metrics:  metrics.New(labels),
		health:   health.New(causes...),
		progress: 10 * time.Second,
		quantum:  turns.Quantum,
		sign:     signature.ComputeWith,
		door:     door.New(),
		refusing: throttle.Each(door.ReasonConnections, door.ReasonClient),
		broken:   throttle.Each("connection", "protocol", "memory", "timeout"),
		spates:   throttle.Each(causes...),
	}
	s.turns, s.disk = turns.New(runtime.GOMAXPROCS(0), s.door.Go), spill.NewDisk(s.door.Go)
	s.judge = s.judgeMessage
	s.Reload(o)
	return s
}

// Reload sets new options. They apply from each connection's next message on, those for silence at once.
func (s *Server) Reload(o Options) {
	s.options.Store(o.withDefaults())
	s.door.Renew()
}

// Serve accepts MTAs on ln until Shutdown, then returns nil. It closes ln. Several calls
// may run at once. Overrides and allow rules refer to the listener by name.
func (s *Server) Serve(name string, ln net.Listener) error {
	if !s.door.Enter(ln) {
		return ln.Close()
	}
	defer s.door.Leave(ln)
	l := &listener{Listener: ln, name: name, server: s}
	err := (&gomilter.Server{NewMilter: l.newMilter}).Serve(l)
	if s.door.IsStopping() {
		return nil
	}
	return fmt.Errorf("milter: accept on %s: %w", ln.Addr(), err)
}

// arriving is how long Shutdown continues to read connections without a message in flight: MTAs send the
// beginning of a message without waiting for answers, so it may not be read yet.
const arriving = 250 * time.Millisecond

// Shutdown stops accepting, and closes connections: those without a message in flight after a quarter of
// a second, because their SMTP sessions may last for minutes, and three seconds later those with only an
// envelope. Others finish, or are cut when ctx ends, whose error it then returns. All goroutines have ended.
func (s *Server) Shutdown(ctx context.Context) error { return s.door.Shutdown(ctx, arriving) }

// countsRecipients reports whether a message counts once for each recipient that the MTA
// at remote names.
func (o *Options) countsRecipients(remote net.Addr) bool {
	a, isTCP := remote.(*net.TCPAddr)
	return o.CountRecipients && (!isTCP || o.rules.IsCounting(a.AddrPort().Addr().Unmap().WithZone("")))
}

// IsMTA reports whether an address is in Options.CountNetworks.
func (s *Server) IsMTA(addr netip.Addr) bool { return s.options.Load().rules.IsCounting(addr) }

// limitKeys are the keys of the configuration for the limits of a door.
var limitKeys = map[string]string{
	door.ReasonConnections: "milter.max_connections",
	door.ReasonClient:      "milter.max_connections_per_client",
}

// admit registers a new connection, or closes it and returns nil.
func (s *Server) admit(listener string, nc net.Conn) *conn {
	o := s.options.Load()
	client, isUser := door.Client(nc, o.UserOf, o.rules.IsCounting)
	admitted, refused := s.door.Admit(nc, client, door.Limits{Connections: o.MaxConnections, PerClient: o.MaxConnectionsPerClient})
	if refused != nil {
		s.refuse(nc, client, refused)
	}
	if admitted == nil {
		nc.Close()
		return nil
	}
	c := newConn(admitted, s)
	if _, isTCP := nc.RemoteAddr().(*net.TCPAddr); isTCP { // only the MTA opens a unix socket
		c.holder = s.clients.Enter(client)
	}
	c.session.listener = listener
	if isUser {
		c.session.place = turns.PlaceOf(client)
	}
	s.metrics.Connections.Inc()
	return c
}

// refuse counts a connection beyond a limit, before it is closed. A client that sees the
// connection closed therefore finds it counted.
func (s *Server) refuse(nc net.Conn, client string, r *door.Refusal) {
	s.metrics.Refused.WithLabelValues(r.Reason).Inc()
	if s.refusing[r.Reason].Allow() {
		s.options.Load().Log.Error("milter connection refused: limit "+limitKeys[r.Reason]+" reached",
			"limit", r.Limit, "of", client, "remote", nc.RemoteAddr().String())
	}
}

// release ends a session. It is called from the session's goroutine.
func (s *Server) release(c *conn) {
	c.session.drop()
	c.dropBuffer()
	s.clients.Leave(c.holder)
	s.metrics.Connections.Dec()
	c.Conn.Release()
}
