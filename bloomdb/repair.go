package bloomdb

import (
	"time"

	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// Restore lists a message again in the generation of the time at, or revokes it there if revoked
// is true. It reports whether it did so: not if the generation has expired or begins in the
// future, or if the message is on the never-list. The caller takes messages from the ledger,
// after Repair. Restore does not write the journal: the result is in the snapshots that Close
// writes. If the filters change, a snapshot for other sites becomes due.
func (db *DB) Restore(set signature.Set, class layout.Class, revoked bool, at time.Time) (bool, error) {
	kind := layout.SpamFilter
	if revoked {
		kind = layout.RevokedFilter
	} else if reportable, err := db.reportable(set); err == nil {
		set = reportable
	} else {
		return false, nil // it is on the never-list
	}
	t := layout.Target{Kind: kind, Gen: db.ks.Settings.Generation(kind, at)}
	if db.ks.Settings.Expired(t) || db.ks.Settings.Future(t, db.ks.Settings.Period(t.Kind)) {
		return false, nil
	}
	return true, db.each(func(ks *keyspace.Keyspace) error { return ks.Restore(t, set, class) })
}
