package keyspace

import (
	"errors"
	"slices"
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
func (ks *Keyspace) Relist(t layout.Target, set signature.Set, class layout.Class, at time.Time, turns map[signature.Signature][]layout.Turn, all []*Keyspace) error {
	if !ks.Outbox.MustRelist() {
		if len(set.Signatures) == 0 || ks.HasWord(t.Kind, set.Signatures) {
			return nil
		}
		if err := ks.Outbox.LackReports(ks.Settings.Dir, ks.Settings.Now()); err != nil {
			return err
		}
	}
	var err error
	for _, t := range ks.RestoreTargets(t, set, at) {
		own, e := ks.Store.OwnBits(t, ks.Store.ShapeFor(t))
		if e == nil {
			e = ks.Settings.Fits(t.Kind.String()+" filter", own.Shape(), own.Ones(), t)
		}
		if e == nil {
			e = ks.restore(t, set, class, at, turns, ks.rungsOf(t, set, all)...)
		}
		err = errors.Join(err, e)
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
	w := ks.newRungs(t)
	for _, other := range all {
		g := other.Store.View.Load().Report(t.Gen)
		if other == ks || g == nil {
			continue
		}
		for _, s := range set.Signatures {
			w.add(signature.Set{Signatures: []signature.Signature{s}}, g.WriteTop(other.Ring.ReportHash(s)))
		}
		for _, s := range set.Sketches {
			for _, there := range other.groups(t.Kind, []signature.Sketch{s}) {
				w.add(signature.Set{Sketches: []signature.Sketch{s}}, sketch.WriteTop(g, there, ks.Settings.Site))
			}
		}
	}
	return w.records()
}

// rungsAfter makes the rungs on which signatures stood after their turns, sketches with the text or body.
func (ks *Keyspace) rungsAfter(t layout.Target, set signature.Set, turns map[signature.Signature][]layout.Turn) (records []journal.Record) {
	w, isIn := ks.newRungs(t), func(kind layout.Kind, at time.Time) bool { return ks.Settings.Generation(kind, at) == t.Gen }
	for _, s := range set.Signatures {
		with := slices.DeleteFunc(slices.Clone(set.Sketches), func(of signature.Sketch) bool {
			return s.Kind != signature.KindBody && (s.Kind != signature.KindText || of.Kind != signature.KindSketch)
		})
		w.add(signature.Set{Signatures: []signature.Signature{s}, Sketches: with}, t.Kind.RungAfter(turns[s], isIn))
	}
	return w.records()
}

// rungs gathers rungs of the ladder filter, and of sketches, for a word.
type rungs struct {
	ks             *Keyspace
	of             layout.Target
	ladder, groups journal.Record
}

func (ks *Keyspace) newRungs(t layout.Target) *rungs {
	return &rungs{ks: ks, of: t, ladder: journal.Record{Target: layout.Target{Kind: layout.LadderFilter, Gen: t.Gen}},
		groups: journal.Record{Target: layout.Target{Kind: layout.SketchFilter, Gen: t.Gen}}}
}

func (w *rungs) add(set signature.Set, top int) {
	for _, r := range w.of.Kind.RungsTo(top) {
		for _, s := range set.Signatures {
			w.ladder.Seeds = append(w.ladder.Seeds, keyring.RungSeed(w.ks.Ring.ReportHash(s), r))
		}
		w.groups.Seeds = append(w.groups.Seeds, w.ks.Sketches.RungSeeds(w.ks.groups(w.of.Kind, set.Sketches), r, w.of.Gen)...)
	}
}

// records returns those for which there is room.
func (w *rungs) records() (records []journal.Record) {
	for _, r := range []journal.Record{w.ladder, w.groups} {
		own, err := w.ks.Store.OwnBits(r.Target, w.ks.Store.ShapeFor(r.Target))
		if len(r.Seeds) > 0 && err == nil && w.ks.Settings.Fits("", own.Shape(), own.Ones(), r.Target) == nil {
			records = append(records, r)
		}
	}
	return records
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
