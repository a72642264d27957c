package main

import (
	"net"
	"os"
	"slices"
	"sync"

	"github.com/spambloom/spambloom/reporting/server"
)

// newest bounds the open connections of a listener. One more closes the oldest one of the visitor
// with the most: a user of this machine, or another machine's address. So a visitor who opens
// connections and keeps them breaks no others' requests, as long as it has more than they. Root
// and the daemon's user are not counted, so that health checks have their place.
//
// A request whose connection is closed here goes on until it is answered. While there are as many
// of them as open connections are allowed, visitors that have one are refused: or they could make
// requests faster than these are answered, and all would be in memory.
type newest struct {
	net.Listener
	most int

	mu      sync.Mutex
	open    map[string][]*newestConn // by visitor, the oldest first
	count   int                      // of open
	cut     []*newestConn            // closed here, and not yet by the server
	arrived int                      // since the start
}

type newestConn struct {
	net.Conn
	of      *newest
	visitor string
	number  int // in the order of arrival
}

// visitorOf returns the visitor at the other end of a connection, and whether it is counted. All
// users of this machine are one if the system does not name them.
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

// Accept returns the next connection that is not refused, and closes another one if there are too
// many.
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
	if l.open == nil {
		l.open = make(map[string][]*newestConn)
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
	l.cut = append(l.cut, c)
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

// Close closes the connection; a second call only returns an error. The server calls it when the
// request is answered.
func (c *newestConn) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
