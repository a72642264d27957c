package keyspace

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/signature"
)

// IsLastWord reports whether this site's own filters have a report or a revocation as the last
// word about each of these signatures, in the newest generation in which this site has any.
func (ks *Keyspace) IsLastWord(kind layout.Kind, signatures []signature.Signature) bool {
	return ks.isWord(kind, signatures, ks.ownTop)
}

func (ks *Keyspace) isWord(kind layout.Kind, signatures []signature.Signature, ownTop func(filter.Hash) int) bool {
	for _, s := range signatures {
		if top := ownTop(ks.Ring.ReportHash(s)); top < 0 || layout.IsRevocation(top) != (kind == layout.RevokedFilter) {
			return false
		}
	}
	return len(signatures) > 0
}

// RoomFor returns ErrFull if this site's filter of a kind has no room in the current generation.
func (ks *Keyspace) RoomFor(kind layout.Kind) error {
	t := layout.Target{Kind: kind, Gen: ks.Settings.Generation(kind, ks.Settings.Now())}
	g := ks.Store.View.Load().Report(t.Gen)
	if g == nil || g.Listing(kind).Own == nil {
		return nil
	}
	own := g.Listing(kind).Own
	return ks.Settings.Fits(kind.String()+" filter", own.Shape(), own.Ones(), t)
}

// HasWord reports whether any of the signatures has this site's last word of a kind.
func (ks *Keyspace) HasWord(kind layout.Kind, signatures []signature.Signature) bool {
	return slices.ContainsFunc(signatures, func(s signature.Signature) bool {
		return ks.isWord(kind, []signature.Signature{s}, ks.ownTop)
	})
}

func (ks *Keyspace) ownTop(h filter.Hash) int {
	for _, g := range ks.Store.View.Load().Reports {
		if top := g.OwnTop(h); top >= 0 {
			return top
		}
	}
	return -1
}

// Rung returns the highest rung in the current generation of a message's signatures and sketches;
// -1 if there is none.
func (ks *Keyspace) Rung(set signature.Set) int {
	g := ks.Store.View.Load().Report(ks.Settings.Generation(layout.SpamFilter, ks.Settings.Now()))
	if g == nil {
		return -1
	}
	rung := -1
	for _, s := range set.Signatures {
		rung = max(rung, g.WriteTop(ks.Ring.ReportHash(s)))
	}
	for _, s := range ks.Sketches.Reported(set.Sketches) {
		rung = max(rung, sketch.WriteTop(g, s, ks.Settings.Site))
	}
	return rung
}

// rungSeeds returns the seeds of the rungs that a report or a revocation of keys writes in the
// ladder filter, see layout.Rungs. A key for which none of the first most rungs is left has none.
// Most reports have none.
func (ks *Keyspace) rungSeeds(t layout.Target, keys []filter.Hash, most int) (seeds []uint64) {
	g := ks.Store.View.Load().Report(t.Gen)
	if g == nil {
		return nil
	}
	for _, h := range keys {
		rung, ok := layout.NextRung(t.Kind, g.WriteTop(h), most)
		for r := layout.FirstRung; ok && r <= rung; r++ {
			seeds = append(seeds, keyring.RungSeed(h, r))
		}
	}
	return seeds
}

// rungRecords makes the records of these rungs, and returns an error if there is no room.
func (ks *Keyspace) rungRecords(t layout.Target, keys []filter.Hash, most int) (records []journal.Record, err error) {
	seeds := ks.rungSeeds(t, keys, most)
	if len(seeds) == 0 {
		return nil, nil
	}
	t.Kind = layout.LadderFilter
	own, err := ks.Store.OwnBits(t, ks.Store.ShapeFor(t))
	if err == nil && ks.Settings.Fits("ladder filter", own.Shape(), own.Ones(), t) != nil {
		err = layout.ErrContested
	}
	for some := range slices.Chunk(seeds, journal.MaxSeeds) {
		records = append(records, journal.Record{Target: t, Seeds: some})
	}
	return records, err
}
