// Package secured bounds what the client of a TLS connection costs before it has proven who it is.
package secured

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// maxHandshake bounds what a client sends until the handshake is done. Five certificates of 4,096
// bits take 10 KiB. Each byte of a certificate takes up to 45 bytes for as long as the connection
// is open, and crypto/tls reads 256 KiB. Unit: bytes.
const maxHandshake = 16 << 10

// maxStall bounds a write to which the server of HTTP has given no deadline. Unlike that server,
// TLS also writes before a request: it answers updates of keys and faulty records while it reads.
const maxStall = 15 * time.Second

// Conn is the server's side of a TLS connection.
type Conn struct {
	*tls.Conn
	beneath *beneath
}

// Server returns a connection that speaks TLS on conn.
func Server(conn net.Conn, config *tls.Config) *Conn {
	b := &beneath{Conn: conn, left: maxHandshake}
	b.SetWriteDeadline(time.Time{}) // a write returns the error
	return &Conn{tls.Server(b, config), b}
}

// Handshake must be called before the first read, by the reader.
func (c *Conn) Handshake() error {
	err := c.Conn.Handshake()
	c.beneath.isOpen = err == nil
	return err
}

// Close closes the connection without TLS's farewell, which waits for a write that a reader has
// begun, while http.Server.Shutdown holds its lock. Answers in HTTP name their end themselves.
func (c *Conn) Close() error { return c.beneath.Close() }

// Beneath returns the connection that TLS is spoken on.
func (c *Conn) Beneath() net.Conn { return c.beneath.Conn }

// beneath is the connection as TLS sees it. The fields are the reader's.
type beneath struct {
	net.Conn
	left   int // bytes until the handshake must be done
	isOpen bool
}

func (b *beneath) Read(p []byte) (int, error) {
	if b.isOpen {
		return b.Conn.Read(p)
	}
	if b.left == 0 {
		return 0, fmt.Errorf("the client's handshake, with its certificates, is longer than %d bytes", maxHandshake)
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// SetWriteDeadline allows no write to wait without end.
func (b *beneath) SetWriteDeadline(t time.Time) error {
	if t.IsZero() {
		t = time.Now().Add(maxStall)
	}
	return b.Conn.SetWriteDeadline(t)
}

// HostOf returns an address without its port: of IPv6 the network of 64 bits, and of this machine, which has millions of
// addresses, always the same.
func HostOf(a net.Addr) string {
	from, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	ip := from.Addr().Unmap()
	if ip.IsLoopback() {
		return "loopback"
	}
	if network, err := ip.Prefix(64); err == nil && ip.Is6() {
		return network.String()
	}
	return ip.String()
}
