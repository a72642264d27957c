package redisclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"time"
)

// errClosed means that a client was closed before or during a dial.
var errClosed = errors.New("client is closed")

// dialer makes the connections of one client instead of the library's dialer, which cannot
// be stopped and ignores its context with TLS.
type dialer struct {
	net net.Dialer
	tls *tls.Config // nil: without TLS

	ended context.Context // done when the client is closed
	close context.CancelFunc
}

// keepAlive equals that of the library's dialer: a dead peer is detected after 45 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}

func newDialer(timeout time.Duration, c *tls.Config) *dialer {
	d := &dialer{net: net.Dialer{Timeout: timeout, KeepAliveConfig: keepAlive}, tls: c}
	d.ended, d.close = context.WithCancel(context.Background())
	return d
}

// child returns a dialer whose connections end when it is closed, or d.
func (d *dialer) child() *dialer {
	c := &dialer{net: d.net, tls: d.tls}
	c.ended, c.close = context.WithCancel(d.ended)
	return c
}

// dial connects. Closing the client ends the dial, and later the connection, even in the
// middle of an answer.
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
		c.replies = new(replies)
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
	if d.net.Timeout > 0 { // the timeout includes the handshake
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.net.Timeout)
		defer cancel()
	}
	secured := tls.Client(c, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return &checked{Conn: secured}, nil
}

// conn is a connection that closes with its client.
type conn struct {
	net.Conn
	forget  func() bool // undoes this if it is closed earlier
	replies *replies    // bounds the answers; nil: they are encrypted
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.replies == nil {
		return n, err
	}
	return c.replies.read(p[:n], err)
}

func (c *conn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// SyscallConn lets the library detect that the other side closed an idle connection.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.SyscallConn()
}
