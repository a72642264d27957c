package milter

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
)

// script is an MTA that sends fixed bytes and accepts all answers.
type script struct {
	io.Reader
	answers   bytes.Buffer
	deadlines []time.Duration // set for reads
}

func (s *script) Write(p []byte) (int, error)      { return s.answers.Write(p) }
func (s *script) Close() error                     { return nil }
func (s *script) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (s *script) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
func (s *script) SetReadDeadline(t time.Time) error {
	s.deadlines = append(s.deadlines, time.Until(t).Round(10*time.Second))
	return nil
}

// run serves the script to its end.
func (s *script) run(t *testing.T, srv *Server) {
	t.Helper()
	if err := srv.Serve("", &once{s}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("serve: %v", err)
	}
	if err := srv.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if n := srv.held.Taken(); n != 0 {
		t.Errorf("%d bytes are still booked as held", n)
	}
}

// once is a listener with a single connection.
type once struct{ next net.Conn }

func (l *once) Accept() (net.Conn, error) {
	if c := l.next; c != nil {
		l.next = nil
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l *once) Close() error   { return nil }
func (l *once) Addr() net.Addr { return &net.UnixAddr{} }

var fullOffer = protocol.Append(nil, gomilter.CodeOptNeg, 6, 0x1ff, uint32(offerAll))

func packets(all ...[]byte) []byte { return slices.Concat(append([][]byte{fullOffer}, all...)...) }

// Each packet has a deadline for its length and one for the rest.
func TestPatience(t *testing.T) {
	field, mail, end := packet('L', "a\x00b\x00"), packet('M', "<s>\x00"), packet('E', "")
	mta := &script{Reader: iotest.OneByteReader(bytes.NewReader(packets(mail, field, field, end, mail, field, mail)))}
	s := NewServer(nil, Options{IdleTimeout: 2 * time.Hour})
	s.judge = func(*message) policy.Decision { return clean(judged{}) }
	mta.run(t, s)
	const offer, idle, content = offerTimeout, 2 * time.Hour, 5 * time.Minute
	want := []time.Duration{offer, content, idle, content, idle, content, content, content, content, content, idle, content, idle, content, content, content, idle}
	if !slices.Equal(mta.deadlines, want) {
		t.Errorf("deadlines %v, want %v", mta.deadlines, want)
	}
}

// The same holds for a packet that partly arrived with the previous one.
func TestPatienceWithinALength(t *testing.T) {
	all := packets(packet('M', "<s>\x00"), packet('R', "<r>\x00"))
	cut := len(all) - len(packet('R', "<r>\x00")) + 2
	mta := &script{Reader: io.MultiReader(bytes.NewReader(all[:cut]), bytes.NewReader(all[cut:]))}
	mta.run(t, NewServer(nil, Options{IdleTimeout: 2 * time.Hour}))
	const offer, idle = offerTimeout, 2 * time.Hour
	if want := []time.Duration{offer, idle, idle}; !slices.Equal(mta.deadlines, want) {
		t.Errorf("deadlines %v, want %v", mta.deadlines, want)
	}
}

func TestIdleConnectionKeepsNoLargeBuffer(t *testing.T) {
	chunk := packet('B', strings.Repeat("x", 60_000))
	c := newConn(&door.Conn{Conn: &script{Reader: bytes.NewReader(packets(chunk, packet('A', "")))}}, NewServer(nil, Options{}))
	for range packet('A', "") { // the library sees no chunk
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if cap(c.buffer) > keptBuffer {
		t.Errorf("buffer of %d bytes", cap(c.buffer))
	}
}
