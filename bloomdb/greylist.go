package bloomdb

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

const (
	greylistWindow = 4 * time.Hour // MTAs come again within it
	greylistShare  = 16            // one message in so many is planned to be deferred
	greylistK      = 12
	greylistFill   = 0.5
	greylistTuples = 4_000_000 // that a sub-window has room for at most: 99 MiB in all

	// greylistRecipients is how many recipients of one message are remembered: what Postfix
	// sends at a time (default_destination_recipient_limit). A message to more is not
	// deferred, or a letter to a thousand would take the room of a thousand.
	greylistRecipients = 50
)

// greylist remembers which messages were put off, and which of them came again, in a
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
type greylist struct {
	mu   sync.Mutex // guards ring; the ring has a lock of its own
	ring *burstCounter
}

// greylistShape is that of one sub-window's filter: it has room for each tuple twice,
// as deferred and as returned.
func greylistShape(o *settings) filter.IterativeShape {
	steps := float64(o.Counts.Period) / float64(greylistWindow/burstSteps)
	tuples := min(greylistTuples, max(1000, float64(o.Counts.Capacity)/steps/greylistShare))
	keys := math.Ceil(2 * tuples)
	return filter.IterativeShape{
		M: filter.SizeIterative(keys, keys, greylistK, greylistFill),
		K: greylistK, Walk: 1, MaxFill: greylistFill,
	}
}

// made returns the ring, nil before start was called.
func (g *greylist) made() *burstCounter {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ring
}

// start makes the ring where there is none.
func (g *greylist) start(o *settings) *burstCounter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ring == nil {
		g.ring, _ = makeBurstCounter(greylistWindow, greylistShape(o), o.Now()) // no options give a shape that is wrong
	}
	return g.ring
}

func (g *greylist) status(now time.Time) *BurstStatus { return g.made().status(now) }

// Returned says that a message was deferred and now comes for the first time since, to
// all recipients or to some. Such a copy is no further sighting: who counts messages asks
// this first and does not count it. Once it was said, further copies to any of these
// recipients count again, so that nobody sends copies that don't.
//
// Sender and recipients are in whatever form is the same each time. They are kept as
// keyed hashes only. Returned is a lookup in memory.
func (db *DB) Returned(set signature.Set, sender string, recipients []string) bool {
	ring := db.greylist.made()
	if ring == nil || len(set.Counting) == 0 {
		return false
	}
	deferred := db.tuples(purposeDeferred, set, sender, recipients)
	if len(deferred) == 0 {
		return false
	}
	returned := db.tuples(purposeReturned, set, sender, recipients)
	now := db.ks.opt.Now()
	ring.mu.Lock()
	defer ring.mu.Unlock()
	ring.notice(now)
	num := ring.number(now)
	return ring.count(deferred, num) == len(deferred) && ring.count(returned, num) == 0 && ring.take(returned, num)
}

// Defer says that a message should be put off once (SMTP code 451): this site saw it at
// least from times within CountOptions.Burst, and e, which Judge has said of it after it
// was counted, neither lists it nor names it as never spam. A recipient is deferred once
// in four hours for one text of one sender, with whichever others; who asks defers the
// message then, or it will pass when it comes next. Where the counter does not say for
// sure that all recipients are new, it is not deferred.
//
// It is false where from is 0, where CountOptions.Burst is, for a message without a
// counting signature, and for one to none or to more than 50 recipients. from should be 5
// or more: fewer are not told well from one, see Burst. Who counts a message once for each
// recipient adds all of its own but one to from: else one to so many recipients is put off
// at its first sight. Each host remembers for itself: a message that comes again at another
// host of the site may be put off there once more.
func (db *DB) Defer(set signature.Set, e Evidence, sender string, recipients []string, from uint64) bool {
	if from == 0 || db.burst == nil || e.Listed || e.Never || e.Count < from {
		return false
	}
	now := db.ks.opt.Now()
	often := func(s signature.Signature) bool { return db.burst.ask(db.ks.ring.countHash(s), now).Count >= from }
	if !slices.ContainsFunc(set.Counting, often) {
		return false
	}
	deferred := db.tuples(purposeDeferred, set, sender, recipients)
	if len(deferred) == 0 {
		return false
	}
	ring := db.greylist.start(db.ks.opt)
	ring.mu.Lock()
	defer ring.mu.Unlock()
	ring.notice(now)
	num := ring.number(now)
	return ring.count(deferred, num) == 0 && ring.take(deferred, num)
}

// tuples gives the positions of a message's tuples, as deferred or as returned: one for
// each recipient; none for more than are remembered.
func (db *DB) tuples(purpose []byte, set signature.Set, sender string, recipients []string) (hashes []filter.Hash) {
	if len(recipients) > greylistRecipients {
		return nil
	}
	parts := [][]byte{purpose, {byte(len(set.Counting))}}
	for _, s := range set.Counting {
		parts = append(parts, s.Digest[:])
	}
	parts = append(parts, []byte(sender), []byte{0}) // no address has a NUL: the protocol ends them by one
	for _, r := range slices.Compact(slices.Sorted(slices.Values(recipients))) {
		hashes = append(hashes, filter.HashBytes(db.ks.ring.keyed.Sum(append(parts, []byte(r))...)))
	}
	return hashes
}

// count is how many of the keys are in the window. mu is held.
func (b *burstCounter) count(keys []filter.Hash, num int64) (n int) {
	for _, key := range keys {
		if b.has(key, num) {
			n++
		}
	}
	return n
}

// has says whether a key is in the window. mu is held.
func (b *burstCounter) has(h filter.Hash, num int64) bool {
	return slices.ContainsFunc(b.ring[:], func(s burstStep) bool {
		return s.within(num) && s.filter.Estimate(h.Sequence(b.shape.M)).Found
	})
}

// take adds keys that are not there, all or none. It cannot where the sub-window has no
// room for them. mu is held.
func (b *burstCounter) take(keys []filter.Hash, num int64) bool {
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
