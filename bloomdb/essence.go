package bloomdb

import (
	"slices"

	"github.com/spambloom/spambloom/signature"
)

// Reportable returns what Report would list of a message now: all but the parts that are
// declared never to be spam. Errors are those of Report: ErrNothing, ErrNever, ErrFull,
// ErrClosed, or the disk's fault while it lasts. It writes nothing; after a fault of the
// journal it checks whether that is over. A report that follows may still fail.
func (db *DB) Reportable(set signature.Set) (signature.Set, error) {
	err := db.ks.writable(set)
	if err == nil {
		set, err = db.reportable(set)
	}
	if err == nil {
		err = db.roomFor(spamFilter)
	}
	return set, err
}

// Revocable is Reportable for Revoke; it never returns ErrNever.
func (db *DB) Revocable(set signature.Set) error {
	if err := db.ks.writable(set); err != nil {
		return err
	}
	return db.roomFor(revokedFilter)
}

// roomFor returns why this site's filters of a kind cannot be changed now, under one of the
// keys: the generation is full, or the disk has a fault.
func (db *DB) roomFor(kind filterKind) error {
	err := db.each(func(ks *keyspace) error {
		t := target{kind, ks.opt.generation(kind, ks.opt.Now())}
		g := ks.store.view.Load().report(t.gen)
		if g == nil || g.listing(kind).own == nil {
			return nil
		}
		own := g.listing(kind).own
		return ks.opt.fits(kind.String()+" filter", own.Shape(), own.Ones(), t)
	})
	if err != nil {
		return err
	}
	return db.ready()
}

// Essence is a set of which each sketch is cut down to what a report or a revocation
// of it stores: one of the essence stores the same groups as one of the whole, under
// the federation's key and, in a roll-over, under the previous one. Sketches that
// are only asked for are cut down as though they were reported, since Revoke may do so.
// It holds no text, and 384 bytes at most of a text's sketch (in a roll-over, 768), 312
// of an image's, of at most 8 sketches in all.
//
// The essence is to be reported and revoked, not to be judged. What Report finds out
// about near-duplicates beside goes by fewer features: a near-duplicate of a declared
// message (Never) may be taken, so that the whole set is to be asked of Reportable
// first, and a near-duplicate of a reported one may be a campaign of its own.
func (db *DB) Essence(set signature.Set) signature.Set {
	sketches := make([]signature.Sketch, 0, min(len(set.Sketches), maxSketches))
	for _, s := range set.Sketches[:min(len(set.Sketches), maxSketches)] {
		var keyed []func(uint64) uint64
		for _, ks := range db.keys {
			if sip, ok := ks.sketches.sipKeys[s.Kind]; ok {
				keyed = append(keyed, sip.hash)
			}
		}
		sketches = append(sketches, s.Essence(keyed...))
	}
	set.Sketches = sketches
	return set
}

// leastKeys is how many keys of a text's sketch are its anchors.
const leastKeys = 20

// Anchors are keyed hashes by which reports are told to be about one thing.
func (ks *keyspace) Anchors(s signature.Sketch) []uint64 {
	sip, ok := ks.sketches.sipKeys[s.Kind]
	switch {
	case !ok || s.AskOnly:
		return nil
	case s.Kind != signature.KindImage:
		return s.LeastKeys(leastKeys, sip.hash)
	}
	var anchors []uint64
	for _, g := range s.Reported(sip.hash) {
		anchors = append(anchors, g.Anchor)
	}
	slices.Sort(anchors)
	return slices.Compact(anchors)
}

// AnchorsNeed is how many of a sketch's n anchors other reports must have, for it to be listed by
// their word: all of an image's, and all but 4 of a text's.
func (ks *keyspace) AnchorsNeed(kind signature.Kind, n int) int {
	if kind == signature.KindImage {
		return n
	}
	return max(1, n-4)
}
