package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/signature"
)

// Reportable returns what Report would list of a message now: all but the parts that are
// declared never to be spam. Errors are those of Report: ErrNothing, ErrNever, ErrFull,
// ErrClosed, or the disk's fault while it lasts. It writes nothing; after a fault of the
// journal it checks whether that is over. A report that follows may still fail.
func (db *DB) Reportable(set signature.Set) (signature.Set, error) {
	err := db.ks.Writable(set)
	if err == nil {
		set, err = db.reportable(set)
	}
	if err == nil {
		err = db.roomFor(layout.SpamFilter)
	}
	return set, err
}

// Revocable is Reportable for Revoke; it never returns ErrNever.
func (db *DB) Revocable(set signature.Set) error {
	if err := db.ks.Writable(set); err != nil {
		return err
	}
	return db.roomFor(layout.RevokedFilter)
}

// roomFor returns why this site's filters of a kind cannot be changed now, under one of the
// keys: the generation is full, or the disk has a fault.
func (db *DB) roomFor(kind layout.Kind) error {
	err := db.each(func(ks *keyspace.Keyspace) error {
		t := layout.Target{Kind: kind, Gen: ks.Settings.Generation(kind, ks.Settings.Now())}
		g := ks.Store.View.Load().Report(t.Gen)
		if g == nil || g.Listing(kind).Own == nil {
			return nil
		}
		own := g.Listing(kind).Own
		return ks.Settings.Fits(kind.String()+" filter", own.Shape(), own.Ones(), t)
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
	sketches := make([]signature.Sketch, 0, min(len(set.Sketches), sketch.Max))
	for _, s := range set.Sketches[:min(len(set.Sketches), sketch.Max)] {
		var keyed []func(uint64) uint64
		for _, ks := range db.keys {
			if sip, ok := ks.Sketches.SipKeys[s.Kind]; ok {
				keyed = append(keyed, sip.Hash)
			}
		}
		sketches = append(sketches, s.Essence(keyed...))
	}
	set = set.ToReport()
	set.Sketches = sketches
	return set
}
