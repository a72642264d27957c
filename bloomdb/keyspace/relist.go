package keyspace

import (
	"time"

	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/signature"
)

// Relist lists or revokes a message of the ledger in a keyspace that has not had the report, and
// lets this site's votes contain it. A keyspace that has all reports stays as it is. One without a word of
// a message lacks reports, too: beside the folder of a new key, it is an older copy. all are those of this
// site. Relist returns ErrFull if the generation has no room left.
func (ks *Keyspace) Relist(t layout.Target, set signature.Set, class layout.Class, at time.Time, all []*Keyspace) error {
	if !ks.Outbox.MustRelist() {
		if len(set.Signatures) == 0 || ks.HasWord(t.Kind, set.Signatures) {
			return nil
		}
		if err := ks.Outbox.LackReports(ks.Settings.Dir, ks.Settings.Now()); err != nil {
			return err
		}
	}
	own, err := ks.Store.OwnBits(t, ks.Store.ShapeFor(t))
	if err == nil {
		err = ks.Settings.Fits(t.Kind.String()+" filter", own.Shape(), own.Ones(), t)
	}
	if err == nil {
		err = ks.Restore(t, set, class, at, ks.rungsOf(t, set, all)...)
	}
	if err != nil || t.Kind != layout.SpamFilter || t.Gen < ks.Settings.VotesGeneration() {
		return err
	}
	return ks.Votes.Apply(ks.Votes.Record(t.Kind, set.Signatures, t.Gen, layout.ReporterRungs))
}

// rungsOf makes the records of the rungs on which a message stands in the other keyspaces. Sites that
// contradict each other list their words again in any order, and the last word must stay the last one.
// Words that another site has overruled stand on the first rungs.
func (ks *Keyspace) rungsOf(t layout.Target, set signature.Set, all []*Keyspace) (records []journal.Record) {
	ladder := journal.Record{Target: layout.Target{Kind: layout.LadderFilter, Gen: t.Gen}}
	groups := journal.Record{Target: layout.Target{Kind: layout.SketchFilter, Gen: t.Gen}}
	for _, other := range all {
		g := other.Store.View.Load().Report(t.Gen)
		if other == ks || g == nil {
			continue
		}
		for _, s := range set.Signatures {
			for _, r := range rungsTo(t.Kind, g.WriteTop(other.Ring.ReportHash(s))) {
				ladder.Seeds = append(ladder.Seeds, keyring.RungSeed(ks.Ring.ReportHash(s), r))
			}
		}
		for _, s := range set.Sketches {
			here := ks.groups(t.Kind, []signature.Sketch{s})
			for _, there := range other.groups(t.Kind, []signature.Sketch{s}) {
				for _, r := range rungsTo(t.Kind, sketch.WriteTop(g, there, ks.Settings.Site)) {
					groups.Seeds = append(groups.Seeds, ks.Sketches.RungSeeds(here, r, t.Gen)...)
				}
			}
		}
	}
	for _, r := range []journal.Record{ladder, groups} {
		own, err := ks.Store.OwnBits(r.Target, ks.Store.ShapeFor(r.Target))
		if len(r.Seeds) > 0 && err == nil && ks.Settings.Fits("", own.Shape(), own.Ones(), r.Target) == nil {
			records = append(records, r)
		}
	}
	return records
}

// rungsTo returns the rungs of the ladder filter up to a top; none if that is a word of the other kind.
func rungsTo(kind layout.Kind, top int) (rungs []int) {
	if layout.IsRevocation(top) != (kind == layout.RevokedFilter) {
		return nil
	}
	for r := layout.FirstRung; r <= min(top, layout.ReporterRungs-1); r++ {
		rungs = append(rungs, r)
	}
	return rungs
}

// Relisted saves a keyspace that lacked reports of the ledger, and records that it has all of them.
func (ks *Keyspace) Relisted() error {
	if !ks.Outbox.MustRelist() {
		return nil
	}
	if err := ks.Save(); err != nil {
		return err
	}
	return ks.Outbox.Relisted()
}
