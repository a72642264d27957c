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
	GreylistWindow = 4 * time.Hour // MTAs come again within it
	GreylistShare  = 16            // one message in so many is planned to be deferred
	greylistK      = 12
	greylistFill   = 0.5
	greylistTuples = 4_000_000 // that a sub-window has room for at most: 99 MiB in all

	// MaxRecipients is how many recipients of one message are remembered: what Postfix
	// sends at a time (default_destination_recipient_limit). A message to more is not
	// deferred, or a letter to a thousand would take the room of a thousand.
	MaxRecipients = 50
)

// Greylist remembers which messages were put off, and which of them came again, in a
// ring like the burst counter's with a window of four hours, in memory only.
//
//	Defer     -> each tuple of the message is added as deferred: from now on it is known
//	Returned  <- all known as deferred, none as returned? then they are added as returned
//
// A tuple is a message's counting signatures, its envelope sender and one of its
// recipients: MTAs group the recipients of a deferred message anew when they come again,
// and a tuple of all of them together would be put off once for each grouping. A message
// of which one tuple is known is not deferred, so that none is twice. Who adds a
// recipient of before to new ones is not put off for these; coming again he would pass,
// too.
//
// The client's address is not in it: large senders come again from another one. Each
// answer errs towards letting mail through. A full filter takes no tuple, and what it
// does not take is not deferred; nor is what is falsely found. At the planned load, one
// tuple for sixteen messages of CountOptions.Capacity, that is one new tuple in 700 and
// less.
//
// The ring is made when the first message might be deferred. With the defaults it
// takes 1.03 MiB.
type Greylist struct {
	mu   sync.Mutex // guards ring; the ring has a lock of its own
	ring *Counter
}

// GreylistShape is that of one sub-window's filter: it has room for each tuple twice,
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

// Made returns the ring, nil before start was called.
func (g *Greylist) Made() *Counter {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ring
}

// Start makes the ring where there is none.
func (g *Greylist) Start(o *layout.Settings) *Counter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ring == nil {
		g.ring, _ = Make(GreylistWindow, GreylistShape(o), o.Now()) // no options give a shape that is wrong
	}
	return g.ring
}

func (g *Greylist) Status(now time.Time) *Status { return g.Made().Status(now) }

// Count is how many of the keys are in the window. The caller holds mu.
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
		return s.within(num) && s.filter.Estimate(h.Sequence(b.shape.M)).Found
	})
}

// Take adds keys that are not there, all or none. It cannot where the sub-window has no
// room for them. The caller holds mu.
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
