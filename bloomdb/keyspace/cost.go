package keyspace

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/signature"
)

// Stands reports whether the newest listing is newer than all revocations.
func (t Trace) Stands() bool { return latest(t.Spam) > latest(t.Revoked) }

// latest returns the number of the newest generation; -1 if there is none.
func latest(trails []Trail) int64 {
	n := int64(-1)
	for _, t := range trails {
		n = max(n, t.Generation)
	}
	return n
}

// Cost returns the share of its generation's room that a report of set, or a revocation, would
// use now: 0 if all of it is present already, 1 for the whole room.
func (ks *Keyspace) Cost(set signature.Set, revoke bool) float64 {
	set = set.ToReport()
	kind, room, entries := layout.SpamFilter, ks.Settings.KeysPerGeneration(), ks.Settings.SketchEntriesPerGeneration()
	if revoke {
		kind, room, entries = layout.RevokedFilter, room/layout.RevokedShare, entries/layout.RevokedShare
		set.Sketches = EvenAskOnly(set.Sketches)
	}
	t := layout.Target{Kind: kind, Gen: ks.Settings.Generation(kind, ks.Settings.Now())}
	g := ks.Store.View.Load().Report(t.Gen)
	var keys []filter.Hash
	for _, s := range slices.Concat(set.Signatures, ks.domainSignatures(kind, set)) {
		keys = append(keys, ks.Ring.ReportHash(s))
	}
	var own, sketches *filter.Bits
	if g != nil {
		own, sketches = g.Listing(kind).Own, g.Sketches.Own
	}
	cost := float64(absent(own, keys)) / room
	full := sketches != nil && ks.Settings.Fits("sketch filter", sketches.Shape(), sketches.Ones(), layout.Target{Kind: layout.SketchFilter, Gen: t.Gen}) != nil
	if !full && !ks.Settings.Unwanted(layout.SketchFilter) {
		seeds := ks.Sketches.EntrySeeds(ks.Sketches.Reported(set.Sketches), sketch.ListOf(kind), t.Gen)
		cost = max(cost, float64(absent(sketches, keyring.StretchAll(seeds)))/entries)
	}
	return cost
}
