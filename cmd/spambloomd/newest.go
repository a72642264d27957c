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
type newest struct {
	net.Listener
	most int

	mu      sync.Mutex
	open    map[string][]*newestConn // by visitor, the oldest first
	count   int                      // of open
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

// Accept returns the next connection, and closes another one if there are too many.
func (l *newest) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	visitor, isCounted := visitorOf(conn)
	c := &newestConn{Conn: conn, of: l, visitor: visitor}
	if !isCounted {
		return c, nil
	}
	if closing := l.add(c); closing != nil {
		closing.Close()
	}
	return c, nil
}

// add counts a connection. It returns the one to be closed, or nil if there is room.
func (l *newest) add(c *newestConn) (closing *newestConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = make(map[string][]*newestConn)
	}
	l.open[c.visitor] = append(l.open[c.visitor], c)
	l.arrived++
	c.number = l.arrived
	if l.count++; l.count <= l.most {
		return nil
	}
	var most []*newestConn
	for _, conns := range l.open {
		if len(conns) > len(most) || len(conns) == len(most) && conns[0].number < most[0].number {
			most = conns
		}
	}
	return most[0]
}

// Close closes the connection; a second call only returns an error.
func (c *newestConn) Close() error {
	l := c.of
	l.mu.Lock()
	conns := l.open[c.visitor]
	if i := slices.Index(conns, c); i >= 0 {
		l.count--
		if l.open[c.visitor] = slices.Delete(conns, i, i+1); len(conns) == 1 {
			delete(l.open, c.visitor)
		}
	}
	l.mu.Unlock()
	return c.Conn.Close()
}
