package reporting

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
)

// Bounds of the connections of users. Each takes a file descriptor, which the mail
// server's connections need. Those of root and the daemon's user are beside them.
const (
	maxConnections = 256 // of all users
	maxOfUser      = 64  // of one user
	maxRefusing    = 32  // beyond these bounds, which are told so; further ones are closed
	lockoutLasts   = time.Minute
)

// DoorOptions say who passes a Door at any time.
type DoorOptions struct {
	DaemonUID int          // the daemon's user, beside root
	Log       *slog.Logger // nil: discard
}

// Door bounds the connections of each user of the machine to the control socket, so
// that no user keeps others out, and none keeps root and the daemon's user out. For
// clients on other machines, a user is an address.
//
//	Accept -> who is it? -> root, the daemon's user: in
//	                     -> a user below the bounds: in
//	                     -> all places are taken: in, for one of the user with the most,
//	                        or for the oldest that is idle
//	                     -> else told to come later (429), and logged
//
// It is safe for concurrent use.
type Door struct {
	to      string // what it leads to
	log     *slog.Logger
	bounds  bounds
	peer    func(net.Conn) Origin
	userOf  func(net.Conn, Origin) (user string, bound int) // empty: it has no bound
	refused *prometheus.CounterVec

	mu       sync.Mutex
	guests   map[string][]*doorConn // by user; in the order in which they came
	total    int                    // of guests
	came     uint64                 // in all
	refusing int                    // connections that are told to come later
	lockout  lockout
	refusals throttle // of the log lines
}

// bounds are numbers of connections.
type bounds struct{ all, refusing int }

// lockout is what is known of connections that were not let in.
type lockout struct {
	user string // the last one
	at   time.Time
	all  time.Time // when a user was kept out by others
}

// NewDoor returns a door to which nobody has come yet.
func NewDoor(o DoorOptions) *Door {
	d := newDoor("control.listen", bounds{maxConnections, maxRefusing}, o.Log)
	// Where the kernel does not say who connects, all are one user.
	d.userOf = func(_ net.Conn, from Origin) (user string, bound int) {
		switch {
		case !from.Known:
			return unknownName, math.MaxInt // all have one bound
		case from.UID == 0 || from.UID == o.DaemonUID:
			return "", 0
		}
		return uidName(from.UID), maxOfUser
	}
	return d
}

func newDoor(to string, b bounds, log *slog.Logger) *Door {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Door{
		to: to, log: log, bounds: b, peer: peerOf, guests: map[string][]*doorConn{},
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name:        "spambloom_control_refused_total",
			Help:        "Connections that were refused, as their user had too many (user), or all users together (all).",
			ConstLabels: prometheus.Labels{"listener": to},
		}, []string{"reason"}),
	}
}

// Collectors are the door's metrics.
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

// Listen lets the connections of ln through the door. The server that it is for must be
// one of NewServer, which tells a refused connection why.
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

// doorConn is a connection that went through the door.
type doorConn struct {
	net.Conn
	door    *Door
	remote  originAddr
	user    string   // empty: it has no bound
	number  uint64   // in the order in which they came
	refusal *Problem // nil: it is let in
	idle    atomic.Bool
	gone    sync.Once
}

func (c *doorConn) RemoteAddr() net.Addr { return c.remote }

func (c *doorConn) Write(p []byte) (int, error) { return writeRefusal(c.Conn, p) }

// Close closes the connection and gives its place back.
func (c *doorConn) Close() error {
	c.gone.Do(func() { c.door.leave(c) })
	return c.Conn.Close()
}

// originAddr carries the origin of a connection through net/http.
type originAddr struct {
	net.Addr
	origin Origin
}

func originOfConn(conn net.Conn) Origin {
	a, _ := conn.RemoteAddr().(originAddr)
	return a.origin
}

// admit lets a connection in, or in to be told that it is refused; nil: it is to be
// closed.
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
	case len(d.guests[user]) >= bound:
		reason = "user"
		c.refusal = newProblem(http.StatusTooManyRequests, "%s has %d connections to %s, the most that one may have", user, len(d.guests[user]), d.to)
	case d.total >= d.bounds.all && !d.makeRoom(user):
		reason = "all"
		c.refusal = newProblem(http.StatusTooManyRequests, "all have %d connections to %s, the most there may be", d.total, d.to)
	}
	if c.refusal == nil {
		d.guests[user] = append(d.guests[user], c)
		d.total++
		d.came++
		c.number = d.came
		return c
	}
	d.refuse(user, reason)
	if d.refusing >= d.bounds.refusing {
		return nil
	}
	d.refusing++
	return c
}

// makeRoom closes a connection, so that there is a place for one of a user: of the user
// with the most, where these are two more at least, else the oldest that is idle. mu is
// held.
func (d *Door) makeRoom(user string) bool {
	closing := d.surplus(user)
	if closing != nil {
		d.refuse(closing.user, "user")
	} else if closing = d.oldestIdle(); closing == nil {
		return false
	}
	d.remove(closing) // the server closes it once more, which takes nothing away
	closing.Conn.Close()
	return true
}

// surplus is a connection of the user with the most, where these are two more than a
// user's at least: the first that is idle, if one is. nil: nobody has so many.
func (d *Door) surplus(user string) *doorConn {
	var most []*doorConn
	for _, conns := range d.guests {
		if len(conns) > len(most) {
			most = conns
		}
	}
	if len(most) < len(d.guests[user])+2 {
		return nil
	}
	return most[max(slices.IndexFunc(most, isIdle), 0)]
}

// oldestIdle is the idle connection that came first; nil: none is idle.
func (d *Door) oldestIdle() (oldest *doorConn) {
	for _, conns := range d.guests {
		i := slices.IndexFunc(conns, isIdle)
		if i >= 0 && (oldest == nil || conns[i].number < oldest.number) {
			oldest = conns[i]
		}
	}
	return oldest
}

func isIdle(c *doorConn) bool { return c.idle.Load() }

// leave gives a connection's place back.
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

// remove takes a connection out of its user's; mu is held.
func (d *Door) remove(c *doorConn) {
	conns := d.guests[c.user]
	i := slices.Index(conns, c)
	if i < 0 {
		return // makeRoom took it
	}
	d.total--
	if conns = slices.Delete(conns, i, i+1); len(conns) == 0 {
		delete(d.guests, c.user)
	} else {
		d.guests[c.user] = conns
	}
}

// refuse takes note of a connection that is not let in, or closed for another user's;
// one line a minute is logged. mu is held.
func (d *Door) refuse(user, reason string) {
	d.refused.WithLabelValues(reason).Inc()
	now, l := time.Now(), &d.lockout
	l.user, l.at = user, now
	if reason == "all" {
		l.all = now
	}
	const line = "connections are refused"
	if n := d.refusals.take(line); n > 0 {
		d.log.Warn(line, "listener", d.to, "user", user, "reason", reason,
			"open", len(d.guests[user]), "of_all", d.total, "refused", n)
	}
}

// Lockout describes the connections that were refused within the last minute; empty for
// none. all is true if a user was kept out by the connections of others.
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
