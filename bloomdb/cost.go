package bloomdb

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// Stands reports whether a revocation of set would take a listing back, of this site
// or of another one. A listing that the never-list or a retouch hides here counts: a
// revocation ends it at the other sites.
func (db *DB) Stands(set signature.Set) bool {
	e := db.Judge(set)
	if e.Listed || slices.ContainsFunc(e.Spared, func(m Match) bool { return !m.Revoked }) {
		return true
	}
	return slices.ContainsFunc(db.Explain(set), Trace.stands)
}

// stands reports whether the newest listing is newer than all revocations.
func (t Trace) stands() bool { return latest(t.Spam) > latest(t.Revoked) }

// latest is the number of the newest generation; -1 where there is none.
func latest(trails []Trail) int64 {
	n := int64(-1)
	for _, t := range trails {
		n = max(n, t.Generation)
	}
	return n
}

// Cost is what a report of set, or a revocation, would take now of the room that one generation
// has for its kind: from 0, where all of it stands there already, to 1 for the whole.
func (ks *keyspace) Cost(set signature.Set, revoke bool) float64 {
	kind, room, entries := spamFilter, ks.opt.keysPerGeneration(), ks.opt.sketchEntriesPerGeneration()
	if revoke {
		kind, room, entries = revokedFilter, room/revokedShare, entries/revokedShare
		set.Sketches = evenAskOnly(set.Sketches)
	}
	t := target{kind, ks.opt.generation(kind, ks.opt.Now())}
	g := ks.store.view.Load().report(t.gen)
	var keys []filter.Hash
	for _, s := range slices.Concat(set.Signatures, ks.domainSignatures(kind, set)) {
		keys = append(keys, ks.ring.reportHash(s))
	}
	var own, sketches *filter.Bits
	if g != nil {
		own, sketches = g.listing(kind).own, g.sketches.own
	}
	cost := float64(absent(own, keys)) / room
	full := sketches != nil && ks.opt.fits("sketch filter", sketches.Shape(), sketches.Ones(), target{sketchFilter, t.gen}) != nil
	if !full && !ks.opt.unwanted(sketchFilter) {
		seeds := ks.sketches.entrySeeds(ks.sketches.reported(set.Sketches), sketchListOf(kind), t.gen)
		cost = max(cost, float64(absent(sketches, stretchAll(seeds)))/entries)
	}
	return cost
}

// absent is how many keys a filter lacks; nil lacks all.
func absent(b *filter.Bits, keys []filter.Hash) int {
	if b == nil {
		return len(keys)
	}
	return len(keys) - count(b.HasBatch(keys, nil))
}
