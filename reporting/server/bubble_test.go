package server

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/client"
)

// pipes is a listener whose connections are in memory. In a bubble of synctest the
// deadlines of its servers pass when everybody waits, and never for a busy machine.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.ended) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) dial(context.Context) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

// connect is dial for tests that write what they like.
func (p *pipes) connect(t *testing.T) net.Conn {
	t.Helper()
	conn, err := p.dial(t.Context())
	testenv.Check(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// client returns a client of the server, which waits for answers as long as a user's does.
func (p *pipes) client(t *testing.T) *client.Client {
	c := client.Over(p.dial)
	t.Cleanup(c.Close)
	return c
}
