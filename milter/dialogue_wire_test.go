package milter

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"github.com/spambloom/spambloom/milter/protocol"
)

// stream is one direction of an in-memory connection. It takes any number of bytes, so that
// neither side can block the other. A read ends where a write ended.
type stream struct {
	mu     sync.Mutex
	filled *sync.Cond
	pieces [][]byte
	closed bool

	late    *time.Timer // of a deadline
	failure error       // of reads after it
}

func newStream() *stream {
	s := &stream{}
	s.filled = sync.NewCond(&s.mu)
	return s
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, net.ErrClosed
	}
	if len(p) > 0 {
		s.pieces = append(s.pieces, append([]byte(nil), p...))
		s.filled.Broadcast()
	}
	return len(p), nil
}

func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.pieces) == 0 {
		if s.closed {
			return 0, io.EOF
		}
		if s.failure != nil {
			return 0, s.failure
		}
		s.filled.Wait()
	}
	n := copy(p, s.pieces[0])
	if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
		s.pieces = s.pieces[1:]
	}
	return n, nil
}

// shut lets the reader read the remaining data, and then the end.
func (s *stream) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.filled.Broadcast()
}

// memoryConn is one end of an in-memory connection. It has no deadlines: a dialogue ends by
// itself.
type memoryConn struct{ in, out *stream }

func (c *memoryConn) Read(p []byte) (int, error)       { return c.in.Read(p) }
func (c *memoryConn) Write(p []byte) (int, error)      { return c.out.Write(p) }
func (c *memoryConn) Close() error                     { c.in.shut(); c.out.shut(); return nil }
func (c *memoryConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (c *memoryConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (c *memoryConn) SetDeadline(time.Time) error      { return nil }
func (c *memoryConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memoryConn) SetWriteDeadline(time.Time) error { return nil }

// receive reads one answer from the server.
func (c *memoryConn) receive() (code byte, data []byte, err error) {
	var head [protocol.Head]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	data = make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(c, data); err != nil {
		return 0, nil, err
	}
	return data[0], data[1:], nil
}

// memoryListener hands out connections in memory.
type memoryListener struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func newMemoryListener() *memoryListener {
	return &memoryListener{conns: make(chan net.Conn), ended: make(chan struct{})}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}
func (l *memoryListener) Close() error   { l.once.Do(func() { close(l.ended) }); return nil }
func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{} }
