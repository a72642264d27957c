package recent

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/iterative"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

const (
	GreylistWindow = 4 * time.Hour // MTAs retry within it
	GreylistShare  = 16            // planned number of messages for each deferred one
	greylistK      = 12
	greylistFill   = 0.5
	greylistTuples = 4_000_000 // most tuples that a sub-window has room for: 99 MiB in all

	// MaxRecipients is the number of recipients of one message that are recorded: what Postfix
	// sends at a time (default_destination_recipient_limit). A message to more recipients is
	// not deferred, as it would take the room of many messages.
	MaxRecipients = 50
)

// Greylist records which messages were deferred, and which of them were retried. It is a ring
// like the burst counter's with a window of four hours, in memory only.
//
//	Defer     -> each tuple of the message is recorded as deferred
//	Returned  <- if all are recorded as deferred and none as returned, they are recorded as returned
//
// A tuple is a message's counting signatures, its envelope sender and one recipient. MTAs may
// group the recipients of a deferred message differently when they retry. A tuple of all
// recipients together would be deferred once for each grouping. A message with a recorded tuple
// is not deferred, so no message is deferred twice. A sender who adds a recorded recipient to
// new ones is not deferred for them; a retry would pass, too.
//
// The client's address is not part of the tuple: large senders retry from another address. Each
// error lets mail through. A full filter records no tuple, and a tuple that is not recorded is
// not deferred. A tuple that is found by mistake is not deferred either. At the planned load,
// one tuple for sixteen messages of CountOptions.Capacity, that happens to at most one new tuple
// in 700.
//
// The ring is created when the first message might be deferred. With the defaults it takes 1.03
// MiB.
type Greylist struct {
	mu   sync.Mutex // guards ring; the ring has a lock of its own
	ring *Counter
}

// GreylistShape returns the shape of one sub-window's filter. It has room for each tuple twice,
// as deferred and as returned.
func GreylistShape(o *layout.Settings) iterative.Shape {
	steps := float64(o.Counts.Period) / float64(GreylistWindow/Steps)
	tuples := min(greylistTuples, max(1000, float64(o.Counts.Capacity)/steps/GreylistShare))
	keys := math.Ceil(2 * tuples)
	return iterative.Shape{
		M: iterative.Size(keys, keys, greylistK, greylistFill),
		K: greylistK, Walk: 1, MaxFill: greylistFill,
	}
}

// Made returns the ring, or nil before the first call of Start.
func (g *Greylist) Made() *Counter {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ring
}

// Start returns the ring, and creates it if necessary.
func (g *Greylist) Start(o *layout.Settings) *Counter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ring == nil {
		g.ring, _ = Make(GreylistWindow, GreylistShape(o), o.Now()) // never fails: all options give a valid shape
	}
	return g.ring
}

func (g *Greylist) Status(now time.Time) *Status { return g.Made().Status(now) }

// Count returns the number of keys that are in the window. The caller holds mu.
func (b *Counter) Count(keys []filter.Hash, num int64) (n int) {
	for _, key := range keys {
		if b.has(key, num) {
			n++
		}
	}
	return n
}

// has reports whether a key is in the window. The caller holds mu.
func (b *Counter) has(h filter.Hash, num int64) bool {
	return slices.ContainsFunc(b.ring[:], func(s step) bool {
		return s.isWithin(num) && s.filter.Estimate(h.Sequence(b.shape.M)).Found
	})
}

// Take adds keys that are not in the window, either all of them or none. It reports false if the
// sub-window has no room for them. The caller holds mu.
func (b *Counter) Take(keys []filter.Hash, num int64) bool {
	s := b.turn(num)
	if ones := s.filter.Ones() + uint64(len(keys)*b.shape.K); float64(ones) > b.shape.MaxFill*float64(b.shape.M) {
		s.missed = true
		return false
	}
	for _, key := range keys {
		s.filter.Add(key.Sequence(b.shape.M))
	}
	return true
}
