package ledger

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// withdrawal is a report or a revocation that is being withdrawn.
type withdrawal struct {
	*txn
	n       uint64
	r       *record.Report
	at      time.Time
	tallies map[record.Key]*record.Tally // without the reporter's weight
	lost    record.Reached               // the parts that have lost the quorum
	before  record.Reached               // of a revocation: the parts that were listed, or not revoked if they are others'
	isPlan  bool                         // nothing is written
	planned map[uint64]bool              // see Undo

	acquitted []uint64     // reports that the revocation had refuted
	changed   []record.Key // where some of them count again, and the revocation did not count any more
}

// restore lets the reports that a revocation refuted, or one that lost its quorum, count again for the
// keys that are no longer revoked. Where the revocation does not count any more, because its reporter said the
// opposite later or others overruled it, that goes for those that its reporter refuted.
// Of many reports of one key, those that a tally remembers.
func (w *withdrawal) restore(mine map[record.Key]record.Opinion) error {
	w.before = w.listed()
	for _, k := range record.KeysOf(w.r.Set, w.r.Anchors) { // in their order: reports get the places in the tallies
		o, counts := mine[k]
		y := w.tallies[k]
		if y.Sums[Ham] >= w.l.quorum || counts && (!y.IsRevoked() || o.Idle || y.Sums[Ham]+o.Weight < w.l.quorum) {
			continue
		}
		if counts {
			y.Revoked = time.Time{}
		}
		for _, n := range slices.Clone(y.Past) {
			if err := w.restoreOne(k, y, n, counts); err != nil {
				return err
			}
		}
		if counts || slices.Contains(w.changed, k) {
			y.Listed = y.Listed || y.Deciding(Spam) >= w.l.quorum
		}
	}
	return nil
}

// restoreOne restores the opinion of one report, unless its
// reporter has said anything else of the key since, or was undone.
func (w *withdrawal) restoreOne(k record.Key, y *record.Tally, n uint64, counts bool) error {
	r, err := w.Report(n)
	if err != nil || r == nil || r.Refuter == 0 || r.Stance() == Ham || r.Reporter == w.r.Reporter || w.planned[n] && !counts {
		return err
	}
	if by, err := w.Report(r.Refuter); err != nil || !counts && (by == nil || by.Reporter != w.r.Reporter) {
		return err
	}
	_, isSaid, err := w.OpinionOf(k, y, r.Reporter)
	if (!isSaid || r.Flags&record.FlagRefuted != 0) && !slices.Contains(w.acquitted, n) {
		w.acquitted = append(w.acquitted, n)
	}
	if isSaid || err != nil {
		return err
	}
	o, err := w.Again(n, r)
	if err != nil {
		return err
	}
	if !counts && !slices.Contains(w.changed, k) {
		w.changed = append(w.changed, k)
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
	listed := w.listed()
	return listed.Without(w.before).With(w.lost.Without(w.lost.Without(listed)))
}

func (w *withdrawal) listed() record.Reached {
	return record.Reach(w.r.Set, w.r.Anchors, func(k record.Key) Weight {
		if y := w.tallies[k]; y.Listed || w.r.Flags&record.FlagForeign != 0 && !y.IsRevoked() {
			return w.l.quorum
		}
		return 0
	}, w.l.quorum)
}

// write writes the withdrawal, and the decision that follows from it.
func (w *withdrawal) write(mine map[record.Key]record.Opinion) error {
	wasNear := w.r.Stance() == Spam && w.ListsNear(w.r.Set, w.r.Anchors, w.tallies)
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
	for _, k := range w.changed {
		if err := w.PutTally(k, w.tallies[k]); err != nil {
			return err
		}
	}
	for _, n := range w.acquitted {
		if err := w.absolve(n); err != nil {
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
	if !wasNear || w.ListsNear(w.r.Set, w.r.Anchors, w.tallies) {
		return nil
	}
	_, err := w.RevokeKept(w.n, w.r.Set, w.r.Anchors)
	return err
}

// absolve takes the charge for a report back, and its refutation if no signature has it among what does not count.
func (w *withdrawal) absolve(n uint64) error {
	r, err := w.Report(n)
	if err != nil || r == nil {
		return err
	}
	if err := w.acquit(n, r, w.at); err != nil {
		return err
	}
	for _, s := range r.Set.Signatures {
		if y, err := w.Tally(record.SignatureKey(s)); err != nil || slices.Contains(y.Past, n) {
			return err
		}
	}
	r.Refuter = 0
	return w.PutReport(n, r)
}
