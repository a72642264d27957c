package main

import (
	"net"
	"sync"
)

// newest bounds the open connections of a listener by closing the oldest one. A client that
// sends its request at once is served, even while another client opens connections and
// keeps them: they share an address, so they cannot be told apart.
type newest struct {
	net.Listener
	most int

	mu   sync.Mutex
	open []*newestConn // the oldest first
}

type newestConn struct {
	net.Conn
	of *newest
}

// Accept returns the next connection, and closes the oldest if there are too many.
func (l *newest) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &newestConn{conn, l}
	l.mu.Lock()
	l.open = append(l.open, c)
	var oldest *newestConn
	if len(l.open) > l.most {
		oldest = l.open[0]
	}
	l.mu.Unlock()
	if oldest != nil {
		oldest.Close()
	}
	return c, nil
}

// Close closes the connection; a second call only returns an error.
func (c *newestConn) Close() error {
	c.of.mu.Lock()
	for i, other := range c.of.open {
		if other == c {
			c.of.open = append(c.of.open[:i], c.of.open[i+1:]...)
			break
		}
	}
	c.of.mu.Unlock()
	return c.Conn.Close()
}
