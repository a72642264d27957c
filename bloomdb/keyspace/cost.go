package keyspace

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// Stands reports whether the newest word about the signature is a report.
func (t Trace) Stands() bool {
	reported, revoked := latest(t.Spam), latest(t.Revoked)
	if reported != revoked {
		return reported > revoked
	}
	return slices.ContainsFunc(t.Contested, func(c Contest) bool {
		return c.Generation == reported && !layout.IsRevocation(c.Rung)
	})
}

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
	var own, sketches, ladder *filter.Bits
	if g != nil {
		own, sketches, ladder = g.Listing(kind).Own, g.Sketches.Own, g.Ladder.Own
	}
	rungs := keyring.StretchAll(ks.rungSeeds(t, keys, layout.ReporterRungs))
	cost := max(float64(absent(own, keys))/room, float64(absent(ladder, rungs))/ks.Settings.RungsPerGeneration())
	full := sketches != nil && ks.Settings.Fits("sketch filter", sketches.Shape(), sketches.Ones(), layout.Target{Kind: layout.SketchFilter, Gen: t.Gen}) != nil
	if !full && !ks.Settings.Unwanted(layout.SketchFilter) {
		seeds := ks.Sketches.EntrySeeds(kind, ks.groups(kind, set.Sketches), t.Gen, layout.ReporterRungs)
		cost = max(cost, float64(absent(sketches, keyring.StretchAll(seeds)))/entries)
	}
	return cost
}
