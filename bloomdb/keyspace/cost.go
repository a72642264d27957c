package keyspace

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

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
