package reporting

import (
	"net"

	"golang.org/x/net/netutil"
)

// maxConnections bounds the open connections of the control API. Idle ones are
// kept for idleTimeout, and each takes a file descriptor, which the mail server's
// connections need.
const maxConnections = 256

// Limit bounds the open connections that ln accepts to 256; further ones wait
// until one is closed.
func Limit(ln net.Listener) net.Listener {
	return netutil.LimitListener(originListener{ln}, maxConnections)
}

// originListener asks the kernel who connects. netutil puts its own type around
// each connection, behind which the socket is out of reach; what gets through is
// the remote address, so the origin goes with that.
type originListener struct{ net.Listener }

func (l originListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return originConn{conn, originAddr{conn.RemoteAddr(), peerOf(conn)}}, nil
}

type originConn struct {
	net.Conn
	remote originAddr
}

func (c originConn) RemoteAddr() net.Addr { return c.remote }

func (c originConn) Write(p []byte) (int, error) { return writeRefusal(c.Conn, p) }

type originAddr struct {
	net.Addr
	origin Origin
}

func originOfConn(conn net.Conn) Origin {
	a, _ := conn.RemoteAddr().(originAddr)
	return a.origin
}
