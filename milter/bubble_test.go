package milter

import (
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	gomilter "github.com/emersion/go-milter"
)

// A bubble of synctest has its own time, which passes when all its goroutines wait. A
// server's connections there are in memory, and have deadlines.

// inBubble runs a subtest in a bubble.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// dial connects to a server in a bubble.
func (l *memoryListener) dial() net.Conn {
	in, out := newStream(), newStream()
	select {
	case l.conns <- &timedConn{memoryConn{in: out, out: in}}:
	case <-l.ended:
	}
	return &timedConn{memoryConn{in: in, out: out}}
}

// Dial makes the listener the dialer of go-milter's client.
func (l *memoryListener) Dial(string, string) (net.Conn, error) {
	return &offeringConn{Conn: l.dial(), protocol: uint32(offerAll &^ gomilter.OptSkip)}, nil
}

// timedConn is one end of an in-memory connection whose reads have deadlines. Its writes
// never wait and need none.
type timedConn struct{ memoryConn }

func (c *timedConn) SetReadDeadline(t time.Time) error { c.in.until(t); return nil }
func (c *timedConn) SetDeadline(t time.Time) error     { return c.SetReadDeadline(t) }

// until sets the time at which reads fail, or clears it.
func (s *stream) until(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = nil
	if s.late != nil {
		s.late.Stop()
	}
	if t.IsZero() {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(t), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.late == timer { // otherwise another deadline was set
			s.failure = os.ErrDeadlineExceeded
			s.filled.Broadcast()
		}
	})
	s.late = timer
}
