package bloomdb

import (
	"time"

	"github.com/spambloom/spambloom/signature"
)

// Anchors returns keyed hashes that reports of the same content have in common. For a text
// they are its 20 smallest keys (a bottom-k sketch: Cohen and Kaplan, 2007), which are also
// the keys that a report of it stores. For an image they are the 6 anchors of its groups. A
// sketch that exists only for lookups has none. The essence has the anchors of the whole
// sketch. Anchors depend on the federation key, so they change when the key does.
//
// In a test with 1,226 copies of 25 spams, varied in 51 ways, 75 % of the copies share
// AnchorsNeed anchors with the original, and 30 % of those with a template filled in anew.
// With three or more reporters, each anchor may be shared with a different one. A bound of 4
// of 12 would reach 96 %. But then a single reporter could list any text by adding a third of
// known spam to it.
func (db *DB) Anchors(s signature.Sketch) []uint64 { return db.ks.Anchors(s) }

// AnchorsNeed returns how many of a sketch's n anchors other reports must have before they
// count as reports of the same content: all of an image's, and all but 4 of a text's. The
// remaining 4 keys cannot list other text in the message: a match needs 8 keys of a group, and
// 5 beside a reported domain, which a single reporter can name.
func (db *DB) AnchorsNeed(kind signature.Kind, n int) int { return db.ks.AnchorsNeed(kind, n) }

// IsCommon reports whether an anchor is no evidence at this site, so that no report stores it.
func (db *DB) IsCommon(anchor uint64) bool { return db.ks.Common.IsCommon(anchor) }

// Cost returns the share of its generation's room that a report of set, or a revocation, would
// use now: 0 if all of it is present already, 1 for the whole room. It is the larger of two
// shares, in the filter of signatures and in the filter of sketches. Revocations have an
// equally small room in both. A full sketch filter stores nothing more, and costs nothing.
func (db *DB) Cost(set signature.Set, revoke bool) float64 { return db.ks.Cost(set, revoke) }

// Now returns the time by the clock of this site's records.
func (db *DB) Now() time.Time { return db.ks.Now() }
