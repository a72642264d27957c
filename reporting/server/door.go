package server

import (
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/server/loglimit"
	"github.com/spambloom/spambloom/reporting/server/peer"
	"github.com/spambloom/spambloom/reporting/server/refusal"
)

// Bounds of the connections of users. Each takes a file descriptor, which the mail server's
// connections need. Those of root and the daemon's user are not counted.
const (
	maxConnections = 256 // of all users
	maxOfUser      = 64  // of one user
	maxRefusing    = 32  // beyond these bounds that are answered with 429; further ones are closed
	lockoutLasts   = time.Minute
)

// DoorOptions are the options of a Door.
type DoorOptions struct {
	DaemonUID int          // always accepted, like root
	Log       *slog.Logger // nil: discard
}

// Door bounds the connections of each user of the machine to the control socket. So no user
// can lock out others, root or the daemon's user. For clients on other machines, a user is
// an address.
//
//	Accept -> user -> root, the daemon's user: accepted
//	               -> a user below the bounds: accepted
//	               -> all places are taken: accepted in place of a connection of the user
//	                  with the most, or of the oldest idle one of users with no fewer
//	               -> else answered with 429 and closed, and logged
//
// It is safe for concurrent use.
type Door struct {
	to      string // the listener, in logs and metrics
	log     *slog.Logger
	bounds  bounds
	peer    func(net.Conn) desk.Origin
	userOf  func(net.Conn, desk.Origin) (user string, bound int) // an empty user has no bound
	refused *prometheus.CounterVec

	mu       sync.Mutex
	accepted map[string][]*doorConn // by user, in the order of their arrival
	total    int                    // of accepted
	arrived  uint64                 // since the start
	refusing int                    // connections that are being answered with 429
	lockout  lockout
	refusals loglimit.Minutely // of the log lines
}

// bounds are the largest numbers of connections.
type bounds struct{ all, refusing int }

// lockout is the latest refusal.
type lockout struct {
	user string    // that was refused
	at   time.Time // of the refusal
	all  time.Time // of the latest refusal because of other users' connections
}

// NewDoor returns a door for the control socket.
func NewDoor(o DoorOptions) *Door {
	d := newDoor("control.listen", bounds{maxConnections, maxRefusing}, o.Log)
	// If the kernel does not name the peer, all are one user.
	d.userOf = func(_ net.Conn, from desk.Origin) (user string, bound int) {
		switch {
		case !from.Known:
			return unknownName, math.MaxInt // bounded like all users together
		case from.UID == 0 || from.UID == o.DaemonUID:
			return "", 0
		}
		return peer.UIDName(from.UID), maxOfUser
	}
	return d
}

func newDoor(to string, b bounds, log *slog.Logger) *Door {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Door{
		to: to, log: log, bounds: b, peer: peer.Of, accepted: map[string][]*doorConn{},
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name:        "spambloom_control_refused_total",
			Help:        "Connections that were refused, as their user had too many (user), or all users together (all).",
			ConstLabels: prometheus.Labels{"listener": to},
		}, []string{"reason"}),
	}
}

// Collectors returns the door's metrics.
func (d *Door) Collectors() []prometheus.Collector {
	return []prometheus.Collector{d.refused, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "spambloom_control_connections",
		Help:        "Open connections of users, without those of root and the daemon's user.",
		ConstLabels: prometheus.Labels{"listener": d.to},
	}, func() float64 {
		d.mu.Lock()
		defer d.mu.Unlock()
		return float64(d.total)
	})}
}

// Listen returns a listener for the accepted connections of ln. Its server must be one of
// New, which answers refused connections.
func (d *Door) Listen(ln net.Listener) net.Listener { return doorListener{ln, d} }

type doorListener struct {
	net.Listener
	door *Door
}

func (l doorListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.door.admit(conn); c != nil {
			return c, nil
		}
		conn.Close()
	}
}

// doorConn is a connection that was accepted, or that is to be answered with a refusal.
type doorConn struct {
	net.Conn
	door    *Door
	remote  originAddr
	user    string       // empty: not counted
	number  uint64       // in the order of arrival
	refusal *api.Problem // nil: accepted
	idle    atomic.Bool
	client  string // that keep was called for; guarded by door.mu
	gone    sync.Once
}

func (c *doorConn) RemoteAddr() net.Addr { return c.remote }

func (c *doorConn) Write(p []byte) (int, error) { return refusal.Write(c.Conn, p) }

// Close closes the connection and frees its place.
func (c *doorConn) Close() error {
	c.gone.Do(func() { c.door.leave(c) })
	return c.Conn.Close()
}

// keep lets a request of a client keep its place. Beyond maxOfAddress requests of one client, it stays
// idle: a client with many addresses would have all places.
func (c *doorConn) keep(client string) {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	kept := 0
	for _, conns := range c.door.accepted {
		for _, o := range conns {
			if o != c && o.client == client && !isIdle(o) {
				kept++
			}
		}
	}
	c.client = client
	c.idle.Store(kept >= maxOfAddress)
}

// originAddr carries the origin of a connection through net/http.
type originAddr struct {
	net.Addr
	origin desk.Origin
}

func originOfConn(conn net.Conn) desk.Origin {
	a, _ := conn.RemoteAddr().(originAddr)
	return a.origin
}

// admit returns the connection if it is accepted or to be answered with a refusal, and nil
// if it is to be closed.
func (d *Door) admit(conn net.Conn) *doorConn {
	origin := d.peer(conn)
	c := &doorConn{Conn: conn, door: d, remote: originAddr{conn.RemoteAddr(), origin}}
	c.idle.Store(true)
	user, bound := d.userOf(conn, origin)
	if user == "" {
		return c
	}
	c.user = user
	d.mu.Lock()
	defer d.mu.Unlock()
	reason := ""
	switch {
	case len(d.accepted[user]) >= bound:
		reason = "user"
		c.refusal = api.NewProblem(http.StatusTooManyRequests, "%s has %d connections to %s, the most that one may have", user, len(d.accepted[user]), d.to)
	case d.total >= d.bounds.all && !d.makeRoom(user):
		if reason = "all"; bound < math.MaxInt && len(d.accepted[user]) > 0 { // it has places, too
			reason = "user"
		}
		c.refusal = api.NewProblem(http.StatusTooManyRequests, "all have %d connections to %s, the most there may be", d.total, d.to)
	}
	if c.refusal == nil {
		d.accepted[user] = append(d.accepted[user], c)
		d.total++
		d.arrived++
		c.number = d.arrived
		return c
	}
	d.refuse(user, reason)
	if d.refusing >= d.bounds.refusing {
		return nil
	}
	d.refusing++
	return c
}

// makeRoom closes a connection to free a place for a user: one of the user with the most,
// if that has at least two more, else the oldest idle one of those with no fewer. The caller
// holds mu.
func (d *Door) makeRoom(user string) bool {
	closing := d.surplus(user)
	if closing != nil {
		d.refuse(closing.user, "user")
	} else if closing = d.oldestIdle(len(d.accepted[user])); closing == nil {
		return false
	}
	d.remove(closing) // the server closes it again, without effect
	closing.Conn.Close()
	return true
}

// surplus returns a connection of the user with the most, if that has at least two more
// than user: the first idle one, if there is one. It returns nil if no user has so many.
// The caller holds mu.
func (d *Door) surplus(user string) *doorConn {
	var most []*doorConn
	for _, conns := range d.accepted {
		if len(conns) > len(most) {
			most = conns
		}
	}
	if len(most) < len(d.accepted[user])+2 {
		return nil
	}
	return most[max(slices.IndexFunc(most, isIdle), 0)]
}

// oldestIdle returns the idle connection that arrived first, of users with at least so many, or
// nil if none is idle. The caller holds mu.
func (d *Door) oldestIdle(least int) (oldest *doorConn) {
	for _, conns := range d.accepted {
		i := slices.IndexFunc(conns, isIdle)
		if len(conns) >= least && i >= 0 && (oldest == nil || conns[i].number < oldest.number) {
			oldest = conns[i]
		}
	}
	return oldest
}

func isIdle(c *doorConn) bool { return c.idle.Load() }

// leave frees a connection's place.
func (d *Door) leave(c *doorConn) {
	if c.user == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.refusal != nil {
		d.refusing--
		return
	}
	d.remove(c)
}

// remove removes a connection from those of its user. The caller holds mu.
func (d *Door) remove(c *doorConn) {
	conns := d.accepted[c.user]
	i := slices.Index(conns, c)
	if i < 0 {
		return // makeRoom removed it
	}
	d.total--
	if conns = slices.Delete(conns, i, i+1); len(conns) == 0 {
		delete(d.accepted, c.user)
	} else {
		d.accepted[c.user] = conns
	}
}

// refuse counts a connection that is refused, or closed in favour of another user. It logs
// one line a minute. The caller holds mu.
func (d *Door) refuse(user, reason string) {
	d.refused.WithLabelValues(reason).Inc()
	now, l := time.Now(), &d.lockout
	l.user, l.at = user, now
	if reason == "all" {
		l.all = now
	}
	const line = "connections are refused"
	if n := d.refusals.Take(line); n > 0 {
		d.log.Warn(line, "listener", d.to, "user", user, "reason", reason,
			"open", len(d.accepted[user]), "of_all", d.total, "refused", n)
	}
}

// Lockout describes the connections that were refused within the last minute. It is empty
// if there are none. all is true if a user was locked out by the connections of others.
func (d *Door) Lockout() (text string, all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, l := time.Now(), d.lockout
	if !l.all.IsZero() && now.Sub(l.all) < lockoutLasts {
		return fmt.Sprintf("%s: users have all %d connections, and further ones are refused", d.to, d.bounds.all), true
	}
	if !l.at.IsZero() && now.Sub(l.at) < lockoutLasts {
		return fmt.Sprintf("%s: connections of %s are refused, which has too many", d.to, l.user), false
	}
	return "", false
}
