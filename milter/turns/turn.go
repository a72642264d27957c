package turns

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"net/netip"
	"time"
)

// Request contains what a message needs for its turn.
type Request struct {
	Client  netip.Addr
	Sender  string        // of the envelope
	Size    int64         // bytes kept of the message
	Limit   time.Duration // for waiting and judging
	Quantum time.Duration // default Quantum
	Stage   *Stage        // of the judgement; nil: all of it is our own part

	// Judge judges the message, or only its first Small bytes. It is called again if its
	// signing was stopped.
	Judge func(short bool)
}

// PlaceOf returns an address for a client that has none, such as a user: each has a line, and
// setbacks, of its own. It is in a network of 48 bits that is assigned to nobody (RFC 4193).
func PlaceOf(client string) netip.Addr {
	a := [16]byte{0xfd}
	binary.BigEndian.PutUint64(a[1:], maphash.String(placeSeed, client))
	return netip.AddrFrom16(a)
}

var placeSeed = maphash.MakeSeed()

// Turn is a message's place in the order.
type Turn struct {
	Request
	ids      []identity
	refused  chan struct{} // closed when the place is lost, with err set
	overtime chan struct{} // closed when the message exceeds its quantum

	// Guarded by Turns.mu. err may be read without it once refused is closed.
	err        error
	line       *line         // where it waits; nil: it does not wait
	given      int           // line.given on arrival
	starved    bool          // its line got no turn while it waited
	short      bool          // only the beginning of the message is judged
	hurried    bool          // Hurry was called
	begun      time.Time     // start, plus the time spent waiting for slots; zero: not begun
	cost       time.Duration // work.done at the start, likewise adjusted
	memory     int64         // booked for it
	slice      time.Duration // of its quantum, for this turn
	timer      *time.Timer   // of the quantum
	over       bool          // beyond its quantum
	ended      bool
	lateMemory bool   // its memory is booked as that of a late message
	keeps      bool   // it is not stopped any more
	wasStopped bool   // it was stopped once: overtime is closed
	abandoned  func() // called at the end; nil: the session still waits
	unpacking
}

var errNoRoom = errors.New("more messages waiting than can be judged in time")

// Refused is closed when the message lost its place.
func (x *Turn) Refused() <-chan struct{} { return x.refused }

// Err returns why the message lost its place. It is valid once Refused is closed.
func (x *Turn) Err() error { return x.err }

// Overtime is closed when the message exceeds its quantum.
func (x *Turn) Overtime() <-chan struct{} { return x.overtime }
