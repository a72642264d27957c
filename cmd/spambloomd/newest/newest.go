// Package newest bounds the open connections of a listener. One more closes the oldest one of the
// visitor with the most: a user of this machine, or another machine's address. So who keeps more
// connections than others breaks none of theirs. Root and the daemon's user, as for health checks,
// are not counted.
//
// A request whose connection is closed here goes on until it is answered. While there are as many
// of them as open connections are allowed, visitors that have one are refused: all are in memory.
// When a connection is closed here, the kernel drops the part of the answer that was not read.
package newest

import (
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spambloom/spambloom/reporting/server"
)

// Listen returns a listener on which at most so many counted connections are open.
func Listen(ln net.Listener, most int) net.Listener {
	return &listener{Listener: ln, most: most, open: map[string][]*tracked{}}
}

type listener struct {
	net.Listener
	most int

	mu      sync.Mutex
	open    map[string][]*tracked // by visitor, the oldest first
	count   int                   // of open
	cut     []*tracked            // closed here amid a request, and not yet by the server
	arrived int                   // since the start
}

// tracked is a counted connection.
type tracked struct {
	net.Conn
	of      *listener
	visitor string
	number  int         // in the order of arrival
	isUsed  atomic.Bool // something was read: it may have a request
}

func (c *tracked) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.isUsed.Store(n > 0 || c.isUsed.Load())
	return n, err
}

// visitorOf returns a connection's visitor. All users of this machine are one if nobody names them.
func visitorOf(conn net.Conn) (visitor string, isCounted bool) {
	if uid, ok := server.UserOf(conn); ok {
		return server.UIDName(uid), uid != 0 && uid != os.Geteuid()
	}
	remote, isTCP := conn.RemoteAddr().(*net.TCPAddr)
	switch {
	case !isTCP:
		return "other", true
	case remote.IP.IsLoopback():
		return "loopback", true
	case remote.IP.To4() == nil:
		return remote.IP.Mask(net.CIDRMask(64, 128)).String(), true // a host has all of its network
	}
	return remote.IP.String(), true
}

// Accept returns the next connection that is not refused, and closes another one of too many.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		visitor, isCounted := visitorOf(conn)
		c := &tracked{Conn: conn, of: l, visitor: visitor}
		if !isCounted || l.add(c) {
			return c, nil
		}
		conn.Close()
	}
}

// add counts a connection, unless its visitor is refused.
func (l *listener) add(c *tracked) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.cut) >= l.most && slices.ContainsFunc(l.cut, func(x *tracked) bool { return x.visitor == c.visitor }) {
		return false
	}
	l.open[c.visitor] = append(l.open[c.visitor], c)
	l.arrived++
	c.number = l.arrived
	if l.count++; l.count > l.most {
		l.cutOldest()
	}
	return true
}

// cutOldest closes the oldest connection of the visitor with the most. The caller holds mu.
func (l *listener) cutOldest() {
	var most []*tracked
	for _, conns := range l.open {
		if len(conns) > len(most) || len(conns) == len(most) && conns[0].number < most[0].number {
			most = conns
		}
	}
	c := most[0]
	l.remove(c)
	if c.isUsed.Load() {
		l.cut = append(l.cut, c)
	}
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else the kernel keeps what the visitor has not read
	}
	c.Conn.Close()
}

// remove forgets a connection. The caller holds mu.
func (l *listener) remove(c *tracked) {
	conns := l.open[c.visitor]
	i := slices.Index(conns, c)
	if i < 0 {
		l.cut = slices.DeleteFunc(l.cut, func(x *tracked) bool { return x == c })
		return
	}
	l.count--
	if l.open[c.visitor] = slices.Delete(conns, i, i+1); len(conns) == 1 {
		delete(l.open, c.visitor)
	}
}

// Close is called by the server when the request is answered; a second call only returns an error.
func (c *tracked) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
