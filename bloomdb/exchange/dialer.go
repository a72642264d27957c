package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"time"
)

// errClosed says that a client was closed before, or while, it dialled.
var errClosed = errors.New("the client is closed")

// dialer makes the connections of one client, in the place of the library's own: that
// one cannot be told to stop, and with TLS it does not look at its context.
type dialer struct {
	net net.Dialer
	tls *tls.Config // nil: without

	ended context.Context // when the client is closed
	close context.CancelFunc
}

// keepAlive is that of the library's own dialer: a peer is dead after 45 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}

func newDialer(timeout time.Duration, c *tls.Config) *dialer {
	d := &dialer{net: net.Dialer{Timeout: timeout, KeepAliveConfig: keepAlive}, tls: c}
	d.ended, d.close = context.WithCancel(context.Background())
	return d
}

// dial connects. The end of the client ends the dial, and later the connection, in the
// midst of an answer too.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.ended.Err() != nil {
		return nil, errClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.ended, func() { cancel(errClosed) })()
	raw, err := d.net.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, forget: context.AfterFunc(d.ended, func() { raw.Close() })}
	if d.tls == nil {
		return c, nil
	}
	return d.handshake(ctx, c, address)
}

func (d *dialer) handshake(ctx context.Context, c *conn, address string) (net.Conn, error) {
	config := d.tls
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			c.Close()
			return nil, err
		}
		config = config.Clone()
		config.ServerName = host
	}
	if d.net.Timeout > 0 { // the time of a dial includes the handshake
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.net.Timeout)
		defer cancel()
	}
	secured := tls.Client(c, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return secured, nil
}

// conn is a connection that ends with its client.
type conn struct {
	net.Conn
	forget func() bool // its end, where it was closed before
}

func (c *conn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// SyscallConn lets the library see whether an idle connection was closed by the other
// side.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.SyscallConn()
}
