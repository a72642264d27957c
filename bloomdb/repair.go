package bloomdb

import (
	"time"

	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// Restore lists a message as it was listed at a time, or revokes it if revoked is true,
// in the generation of that time. It reports whether that generation is kept. It writes
// no journal: the snapshots of Close hold the result. What was not there yet, a snapshot
// tells other sites. Source: the ledger, after Repair.
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
	if db.ks.Settings.Aged(t) || db.ks.Settings.Early(t) {
		return false, nil
	}
	return true, db.each(func(ks *keyspace.Keyspace) error { return ks.Restore(t, set, class) })
}
