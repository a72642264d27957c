package reporting

import (
	"errors"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
)

// crowd is a listener at which clients wait already.
type crowd chan net.Conn

func (c crowd) Accept() (net.Conn, error) {
	if conn, ok := <-c; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (c crowd) Close() error { close(c); return nil }
func (crowd) Addr() net.Addr { return &net.UnixAddr{} }

// Clients that connect and stay cannot use up the file descriptors; those over
// the limit are served when others have gone.
func TestConnectionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 300
		ln, clients := make(crowd, all), make([]net.Conn, all)
		for i := range clients {
			var served net.Conn
			clients[i], served = net.Pipe()
			ln <- served
		}
		s, done := NewServer(http.NotFoundHandler(), nil), make(chan error)
		go func() { done <- s.Serve(Limit(ln)) }()
		synctest.Wait()
		if n := all - len(ln); n != maxConnections {
			t.Errorf("%d connections are open, want %d", n, maxConnections)
		}
		for _, c := range clients[:10] {
			c.Close()
		}
		synctest.Wait()
		if n := all - len(ln); n != maxConnections+10 {
			t.Errorf("after 10 have gone, %d were accepted, want %d", n, maxConnections+10)
		}
		s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}
