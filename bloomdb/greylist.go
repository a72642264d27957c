package bloomdb

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/recent"
	"github.com/spambloom/spambloom/signature"
)

// Returned reports whether a message was deferred and now comes for the first time since, to
// all recipients or to some. Such a copy is no further sighting: who counts messages asks
// this first and does not count it. Once it was said, further copies to any of these
// recipients count again, so that nobody sends copies that don't.
//
// Sender and recipients are in whatever form is the same each time. They are kept as
// keyed hashes only. Returned is a lookup in memory.
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

// Defer reports whether a message should be put off once (SMTP code 451): this site saw it at
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

// tuples gives the positions of a message's tuples, as deferred or as returned: one for
// each recipient; none for more than are remembered.
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
