package bloomdb

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/recent"
	"github.com/spambloom/spambloom/signature"
)

// Returned reports whether a message was deferred and now arrives for the first time since, to
// all its recipients or to some of them. Such a retry is not another sighting: the caller asks
// Returned before it counts a message, and does not count a retry. It is true once for each
// recipient: later copies count again, so a sender cannot send copies that are not counted.
//
// Sender and recipients may have any form that is the same each time. Only keyed hashes of
// them are stored. Returned is a lookup in memory.
func (db *DB) Returned(set signature.Set, sender string, recipients []string) bool {
	ring := db.greylist.Made()
	if ring == nil || len(set.Counting) == 0 {
		return false
	}
	deferred := db.tuples(keyring.PurposeDeferred, set, sender, recipients)
	if len(deferred) == 0 {
		return false
	}
	returned := db.tuples(keyring.PurposeReturned, set, sender, recipients)
	now := db.ks.Settings.Now()
	ring.Mu.Lock()
	defer ring.Mu.Unlock()
	ring.Notice(now)
	num := ring.Number(now)
	return ring.Count(deferred, num) == len(deferred) && ring.Count(returned, num) == 0 && ring.Take(returned, num)
}

// Defer reports whether a message should be deferred once (SMTP code 451): this site saw it at
// least from times within CountOptions.Burst, and its evidence e, from Judge after the message
// was counted, neither lists it nor has it on the never-list. If Defer returns true, the caller
// must defer the message: Defer has recorded it and lets the retry pass. A recipient is
// deferred once in four hours for one text of one sender, whatever the other recipients are.
// If it is not certain that all recipients are new, the message is not deferred.
//
// Defer is false if from or CountOptions.Burst is 0, for a message without a counting
// signature, and for a message to no recipient or to more than 50. from should be at least 5:
// smaller counts are inaccurate, see Burst. A caller that counts a message once for each
// recipient adds the number of its recipients, less one, to from. Otherwise a message to so
// many recipients is deferred at its first sighting. Each host has its own record: a retry at
// another host of the site may be deferred there once more.
func (db *DB) Defer(set signature.Set, e Evidence, sender string, recipients []string, from uint64) bool {
	if from == 0 || db.burst == nil || e.Listed || e.Never || e.Count < from {
		return false
	}
	now := db.ks.Settings.Now()
	often := func(s signature.Signature) bool { return db.burst.Ask(db.ks.Ring.CountHash(s), now).Count >= from }
	if !slices.ContainsFunc(set.Counting, often) {
		return false
	}
	deferred := db.tuples(keyring.PurposeDeferred, set, sender, recipients)
	if len(deferred) == 0 {
		return false
	}
	ring := db.greylist.Start(db.ks.Settings)
	ring.Mu.Lock()
	defer ring.Mu.Unlock()
	ring.Notice(now)
	num := ring.Number(now)
	return ring.Count(deferred, num) == 0 && ring.Take(deferred, num)
}

// tuples returns the positions of a message's tuples, as deferred or as returned: one for each
// recipient. It returns none if there are more than recent.MaxRecipients.
func (db *DB) tuples(purpose []byte, set signature.Set, sender string, recipients []string) (hashes []filter.Hash) {
	if len(recipients) > recent.MaxRecipients {
		return nil
	}
	parts := [][]byte{purpose, {byte(len(set.Counting))}}
	for _, s := range set.Counting {
		parts = append(parts, s.Digest[:])
	}
	parts = append(parts, []byte(sender), []byte{0}) // no address has a NUL: the protocol ends them by one
	for _, r := range slices.Compact(slices.Sorted(slices.Values(recipients))) {
		hashes = append(hashes, filter.HashBytes(db.ks.Ring.Keyed.Sum(append(parts, []byte(r))...)))
	}
	return hashes
}
