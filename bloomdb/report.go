package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/signature"
)

// Report lists all of set's signatures and sketches as spam of a class. The class is stored if
// ReportOptions.Classes is set. When Report returns nil, the report is on disk in every
// keyspace. Errors: ErrNothing, ErrNever, ErrFull, ErrClosed, or a wrapped I/O error. After an
// error nothing is listed, and the report can be retried.
func (db *DB) Report(set signature.Set, class layout.Class) error {
	err := db.ks.Storable(set)
	if err == nil {
		set, err = db.reportable(set)
	}
	if err != nil {
		return err
	}
	for _, ks := range db.keys {
		ks.TakeBack(set)
	}
	return db.list(layout.SpamFilter, set, class)
}

// Revoke ends the listing of all of set's signatures, and of near-duplicates by their sketches.
// It does not affect the exact listing of another message, nor the listing of what the message
// carries: the next copy of a spam that somebody forwarded is still spam. It is durable like Report, and has
// the same errors except ErrNever.
func (db *DB) Revoke(set signature.Set) error {
	if err := db.ks.Storable(set); err != nil {
		return err
	}
	set = set.ToReport()
	if len(vote.Keys(set.Signatures)) == 0 {
		set.Sketches = keyspace.EvenAskOnly(never.OfMessage(set.Sketches))
	}
	return db.list(layout.RevokedFilter, set, layout.ClassOther)
}

// list writes a report or a revocation in all keyspaces.
func (db *DB) list(kind layout.Kind, set signature.Set, class layout.Class) error {
	campaign, most := kind == layout.SpamFilter && db.isCampaign(set), db.rungsFor(kind, set)
	return db.update(func(ks *keyspace.Keyspace) (keyspace.Update, error) {
		return ks.PrepareReport(kind, set, class, campaign, most)
	})
}

// rungsFor returns how many rungs a report or a revocation may use: all, if an administrator has
// settled the message so.
func (db *DB) rungsFor(kind layout.Kind, set signature.Set) int {
	settled := db.policy().Settled
	for _, s := range set.Signatures {
		if isSpam, ok := settled[s]; ok && isSpam == (kind == layout.SpamFilter) {
			return layout.Rungs
		}
	}
	return layout.ReporterRungs
}

// Count adds n sightings of a message to the current counting generation, under each of its
// counting keys. It does not wait for the disk: a crash loses the counts of up to a second.
// After an error, such as a full disk, the count is in memory only.
func (db *DB) Count(set signature.Set, n uint32) error {
	if n == 0 || len(set.Counting) == 0 {
		return nil
	}
	if db.ks.Closed.Load() {
		return layout.ErrClosed
	}
	now := db.ks.Settings.Now()
	return db.all(func(ks *keyspace.Keyspace) error {
		hashes := make([]filter.Hash, 0, 8)
		for _, s := range set.Counting {
			hashes = append(hashes, ks.Ring.CountHash(s))
		}
		if ks == db.ks {
			for _, h := range hashes {
				db.burst.Add(h, n, now)
			}
		}
		return ks.Count(hashes, n, now)
	})
}
