package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/signature"
)

// Reportable returns the part of a message that Report would list now: all except the parts on
// the never-list. Errors are those of Report: ErrNothing, ErrNever, ErrFull, ErrClosed, or the
// fault of the disk while it lasts. Reportable writes nothing. After a fault of the journal it
// checks whether the fault is over. A report that follows may still fail.
func (db *DB) Reportable(set signature.Set) (signature.Set, error) {
	return db.acceptable(layout.SpamFilter, set)
}

// Revocable is Reportable for Revoke; it never returns ErrNever.
func (db *DB) Revocable(set signature.Set) error {
	_, err := db.acceptable(layout.RevokedFilter, set)
	return err
}

// acceptable returns the part of a message that a report or a revocation would write now.
func (db *DB) acceptable(kind layout.Kind, set signature.Set) (signature.Set, error) {
	err := db.ks.Writable(set)
	if err == nil && kind == layout.SpamFilter {
		set, err = db.reportable(set)
	}
	if err == nil {
		err = db.roomFor(kind)
	}
	return set, err
}

// roomFor returns why this site's filters of a kind cannot be changed now: in one of the
// keyspaces the generation is full, or the disk has a fault.
func (db *DB) roomFor(kind layout.Kind) error {
	if err := db.each(func(ks *keyspace.Keyspace) error { return ks.RoomFor(kind) }); err != nil {
		return err
	}
	return db.ready()
}

// Essence returns the set with each sketch reduced to the features that a report or a
// revocation of it stores. A report of the essence stores the same groups as a report of the
// whole set, under the federation key, and under the previous key during a key change.
// Sketches that exist only for lookups are reduced as if they were reported, because Revoke
// may do so. The essence contains no text. It has at most 8 sketches, of at most 384 bytes for
// a text (768 during a key change) and 312 bytes for an image.
//
// The essence is for reports and revocations, not for Judge. With fewer features, Report
// recognises fewer near-duplicates: it may accept a near-duplicate of a message on the
// never-list, so the caller passes the whole set to Reportable first. A near-duplicate of a
// reported message may count as a campaign of its own.
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
