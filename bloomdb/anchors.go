package bloomdb

import (
	"time"

	"github.com/spambloom/spambloom/signature"
)

// Anchors are keyed hashes by which reports are told to be about one thing. Of a text
// they are its 20 smallest keys (a bottom-k sketch: Cohen and Kaplan, 2007), which are
// those that a report of it stores, of an image the 6 anchors of its groups, of what is
// only asked for none. Those of the essence are those of the whole. They go by the
// federation's key, so that those of before a roll-over are others.
//
// Of 1,226 copies of 25 spams, varied in 51 ways, 75 % share AnchorsNeed of them with the
// original, and 30 % of those whose template was filled in anew; of three or more
// reporters, each anchor may be shared with another one. With 4 of 12 it would be 96 %;
// but then one person who reports a text of which a third is known spam lists what the
// rest of it is.
func (db *DB) Anchors(s signature.Sketch) []uint64 {
	return db.ks.Anchors(s)
}

// AnchorsNeed is how many of a sketch's n anchors other reports must have, for it to be
// listed by their word: all of an image's, and all but 4 of a text's. Then no group that
// is stored says anything of other text that stands in the message beside: a match needs
// 8 keys of it, and with a reported domain, which one reporter may name, 5.
func (db *DB) AnchorsNeed(kind signature.Kind, n int) int {
	return db.ks.AnchorsNeed(kind, n)
}

// Cost is what a report of set, or a revocation, would take now of the room that one
// generation has for its kind: from 0, where all of it stands there already, to 1 for
// the whole. It is the greater of two parts: that of the signatures' filter, and that
// of the sketches' filter, of which revocations have as small a part as of the other. A full
// filter of sketches takes none, and costs nothing.
func (db *DB) Cost(set signature.Set, revoke bool) float64 {
	return db.ks.Cost(set, revoke)
}

// Now is the time by the clock that this site's records are made with.
func (db *DB) Now() time.Time {
	return db.ks.Now()
}
