package bloomdb

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// Restore lists a message again in the generation of the time at, or revokes it there if revoked
// is true; what was said while the clock was ahead by more than a period, in the current one. It reports
// whether it did so: not if the generation has expired, or if the message is on the never-list. The caller takes messages from the ledger,
// after Repair, with its turns. Restore writes only retouches to the journal: the result is in the snapshots that Close
// writes. If the filters change, a snapshot for other sites becomes due.
func (db *DB) Restore(set signature.Set, class layout.Class, revoked bool, at time.Time, turns map[signature.Signature][]layout.Turn) (bool, error) {
	t, set, ok := db.restorable(set, revoked, at)
	if !ok {
		return false, nil
	}
	return true, db.each(func(ks *keyspace.Keyspace) error { return ks.Restore(t, set, class, at, turns) })
}

// KnownReport returns the number of the last report of the ledger that the folder knew at the start.
// Later ones are in the journal, as after a crash, unless the folder is an older copy: see Lacks.
func (db *DB) KnownReport() uint64 { return db.ks.Outbox.KnownReport() }

// Lacks reports whether this site's filters have no word of a message of the ledger, although they
// could have it.
func (db *DB) Lacks(set signature.Set, revoked bool, at time.Time) bool {
	t, set, ok := db.restorable(set, revoked, at)
	return ok && len(set.Signatures) > 0 && !db.ks.HasWord(t.Kind, set.Signatures)
}

// LackReports records durably that the filters lack reports of the ledger up to newest, see MustRelist.
func (db *DB) LackReports(newest time.Time) error {
	db.ks.Keeper.Passed(newest)
	return db.each(func(ks *keyspace.Keyspace) error { return ks.Outbox.LackReports(ks.Settings.Dir, ks.Settings.Now()) })
}

// MustRelist reports whether a keyspace may lack reports of the ledger: they were made while the
// site did not use its key, its filters are gone, or a repair was interrupted. The caller then calls
// Relist with all messages of the ledger, before an exchange runs, and Relisted.
func (db *DB) MustRelist() bool {
	return slices.ContainsFunc(db.keys, func(ks *keyspace.Keyspace) bool { return ks.Outbox.MustRelist() })
}

// Relist is Restore for the keyspaces that lack reports. Error: ErrFull, or a wrapped I/O error.
func (db *DB) Relist(set signature.Set, class layout.Class, revoked bool, at time.Time, turns map[signature.Signature][]layout.Turn) (bool, error) {
	t, set, ok := db.restorable(set, revoked, at)
	if !ok {
		return false, nil
	}
	return true, db.each(func(ks *keyspace.Keyspace) error { return ks.Relist(t, set, class, at, turns, db.keys) })
}

// Relisted records durably that no keyspace lacks reports any more.
func (db *DB) Relisted() error { return db.each((*keyspace.Keyspace).Relisted) }

// restorable returns where a message of the ledger belongs, and what of it can be stored. ok is
// false if nothing can.
func (db *DB) restorable(set signature.Set, revoked bool, at time.Time) (t layout.Target, kept signature.Set, ok bool) {
	kind := layout.SpamFilter
	if revoked {
		kind = layout.RevokedFilter
	} else if reportable, err := db.reportable(set); err == nil {
		set = reportable
	} else {
		return t, set, false // it is on the never-list
	}
	t = layout.Target{Kind: kind, Gen: db.ks.Settings.Generation(kind, at)}
	if db.ks.Settings.Future(t, db.ks.Settings.Period(kind)) {
		t.Gen = db.ks.Settings.Generation(kind, db.ks.Settings.Now())
	}
	return t, set, slices.ContainsFunc(db.keys, func(ks *keyspace.Keyspace) bool { return len(ks.RestoreTargets(t, set, at)) > 0 })
}
