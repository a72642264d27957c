package main

import (
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spambloom/spambloom/reporting/server"
)

// newest bounds the open connections of a listener. One more closes the oldest one of the visitor
// with the most: a user of this machine, or another machine's address. So who keeps more connections
// than others breaks none of theirs. Root and the daemon's user, as for health checks, are not counted.
//
// A request whose connection is closed here goes on until it is answered. While there are as many
// of them as open connections are allowed, visitors that have one are refused: all are in memory.
type newest struct {
	net.Listener
	most int

	mu      sync.Mutex
	open    map[string][]*newestConn // by visitor, the oldest first; not nil
	count   int                      // of open
	cut     []*newestConn            // closed here amid a request, and not yet by the server
	arrived int                      // since the start
}

type newestConn struct {
	net.Conn
	of      *newest
	visitor string
	number  int         // in the order of arrival
	isUsed  atomic.Bool // something was read: it may have a request
}

func (c *newestConn) Read(p []byte) (int, error) {
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
func (l *newest) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		visitor, isCounted := visitorOf(conn)
		c := &newestConn{Conn: conn, of: l, visitor: visitor}
		if !isCounted || l.add(c) {
			return c, nil
		}
		conn.Close()
	}
}

// add counts a connection, unless its visitor is refused.
func (l *newest) add(c *newestConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.cut) >= l.most && slices.ContainsFunc(l.cut, func(x *newestConn) bool { return x.visitor == c.visitor }) {
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
func (l *newest) cutOldest() {
	var most []*newestConn
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
	c.Conn.Close()
}

// remove forgets a connection. The caller holds mu.
func (l *newest) remove(c *newestConn) {
	conns := l.open[c.visitor]
	i := slices.Index(conns, c)
	if i < 0 {
		l.cut = slices.DeleteFunc(l.cut, func(x *newestConn) bool { return x == c })
		return
	}
	l.count--
	if l.open[c.visitor] = slices.Delete(conns, i, i+1); len(conns) == 1 {
		delete(l.open, c.visitor)
	}
}

// Close is called by the server when the request is answered; a second call only returns an error.
func (c *newestConn) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
