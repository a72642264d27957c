package ledger

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
)

// withdrawal is a report or a revocation that is being withdrawn.
type withdrawal struct {
	*txn
	n       uint64
	r       *record.Report
	at      time.Time
	tallies map[record.Key]*record.Tally // without the reporter's weight
	lost    record.Reached               // the parts that have lost the quorum
	isPlan  bool                         // nothing is written

	restored []uint64 // reports that the revocation had refuted
}

// restore lets the reports that a revocation refuted, or one by which nobody stands any more, count again for the
// keys that it no longer revokes. Of many reports of one key, those that a tally remembers.
func (w *withdrawal) restore(mine map[record.Key]record.Opinion) error {
	for _, k := range record.KeysOf(w.r.Set, w.r.Anchors) { // in their order: reports get the places in the tallies
		o, ok := mine[k]
		y := w.tallies[k]
		if !ok || !y.IsRevoked() || o.Idle || y.Sums[Ham] >= w.l.quorum || y.Sums[Ham]+o.Weight < w.l.quorum {
			continue
		}
		y.Revoked = time.Time{}
		for _, n := range slices.Clone(y.Past) {
			if err := w.restoreOne(k, y, n); err != nil {
				return err
			}
		}
		y.Listed = y.Deciding(Spam) >= w.l.quorum
	}
	return nil
}

// restoreOne restores the opinion of one report, if the revocation refuted it, or one by which nobody stands, and its
// reporter has not said anything else of the key since, nor was undone.
func (w *withdrawal) restoreOne(k record.Key, y *record.Tally, n uint64) error {
	r, err := w.Report(n)
	if err != nil || r == nil || r.Refuter == 0 || r.Stance() == Ham {
		return err
	}
	if stands, err := w.Stands(k, y, r.Refuter, w.r.Reporter); stands || err != nil {
		return err
	}
	if _, ok, err := w.OpinionOf(k, y, r.Reporter); ok || err != nil {
		return err
	}
	o := record.Opinion{Reporter: r.Reporter, Report: n, At: r.At.Truncate(time.Second), Weight: r.Weight}
	if !slices.Contains(w.restored, n) {
		w.restored = append(w.restored, n)
	}
	if w.isPlan {
		y.Add(o)
		return nil
	}
	y.Forget(n)
	return w.AddOpinion(k, y, o)
}

// relisted returns the parts that are listed again: those whose reports have the quorum again,
// and those that only other sites had listed.
func (w *withdrawal) relisted() record.Reached {
	if w.r.Stance() == Spam {
		return record.Reached{}
	}
	listed := record.Reach(w.r.Set, w.r.Anchors, func(k record.Key) Weight {
		if y := w.tallies[k]; y.Listed || w.r.Flags&record.FlagForeign != 0 && !y.IsRevoked() {
			return w.l.quorum
		}
		return 0
	}, w.l.quorum)
	return w.lost.Without(w.lost.Without(listed))
}

// write writes the withdrawal, and the decision that follows from it.
func (w *withdrawal) write(mine map[record.Key]record.Opinion) error {
	wasNear := w.r.Stance() == Spam && w.listsNear(w.r.Set, w.r.Anchors, w.tallies)
	for k, o := range mine {
		y := w.tallies[k]
		y.Add(o) // removeOpinion subtracts it
		if err := w.RemoveOpinion(k, y, o); err != nil {
			return err
		}
		if w.r.Stance() == Spam && y.Deciding(Spam) < w.l.quorum {
			y.Unlist(w.at)
		}
		if err := w.PutTally(k, y); err != nil {
			return err
		}
	}
	w.r.Flags, w.r.Refuter = w.r.Flags|record.FlagWithdrawn, 0
	if err := w.PutReport(w.n, w.r); err != nil {
		return err
	}
	for _, n := range w.restored {
		if err := w.acquit(n); err != nil {
			return err
		}
	}
	due := record.Due{Action: Revoke, Report: w.n, Parts: w.lost}
	if w.r.Stance() == Ham {
		due.Action, due.Parts = List, w.relisted()
	}
	if due.Parts.Any() {
		if _, err := w.PutDue(due); err != nil {
			return err
		}
	}
	if !wasNear || w.listsNear(w.r.Set, w.r.Anchors, w.tallies) {
		return nil
	}
	_, err := w.revokeKept(w.n, w.r.Set, w.r.Anchors)
	return err
}

// acquit takes the refutation of a report back, and returns its credit.
func (w *withdrawal) acquit(n uint64) error {
	r, err := w.Report(n)
	if err != nil || r == nil || r.Flags&record.FlagRefuted == 0 {
		return err
	}
	r.Flags, r.Refuter = r.Flags&^record.FlagRefuted, 0
	row, err := w.ReporterByID(r.Reporter)
	if err != nil {
		return err
	}
	if row != nil {
		w.experience(row, r.Credit.Float(), -trust.Refutation, w.at)
	}
	return w.PutReport(n, r)
}
