package ledger

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/rows"
)

// withdrawal is a report or a revocation that is being withdrawn.
type withdrawal struct {
	*txn
	n       uint64
	r       *record.Report
	u       Undo
	tallies map[record.Key]*record.Tally // without the reporter's weight
	lost    record.Reached               // the parts that have lost the quorum
	before  record.Reached               // of a revocation: the parts that were listed, or not revoked if they are others'

	acquitted []uint64     // reports and revocations that it had refuted
	changed   []record.Key // where some of them count again
}

// restore lets what a report or a revocation refuted count again, for the keys where nobody else keeps it refuted, of those
// that a tally remembers: all, but for what others refuted whose word it has refuted itself. Where it does not count
// any more, because its reporter said the opposite later or others overruled it, only what its reporter refuted.
// Revocations come first, also those that earlier words of the reporter refuted: else their undo would
// come too late to keep what they revoked from being listed.
func (w *withdrawal) restore(mine map[record.Key]record.Opinion) error {
	w.before = w.listed()
	if w.r.Flags&record.FlagIdle != 0 { // it refuted nothing
		return nil
	}
	for _, k := range record.KeysOf(w.r.Set, w.r.Anchors) { // in their order: reports get the places in the tallies
		o, counts := mine[k]
		y, s := w.tallies[k], w.r.Stance()
		past, err := w.PastOf(y)
		if err != nil {
			return err
		}
		isLost := counts && s == Spam && y.Sums[Spam] < w.l.quorum && y.Sums[Spam]+o.Weight >= w.l.quorum
		if err := w.restoreAll(k, past, Ham, isLost); err != nil {
			return err
		}
		if s == Spam || y.Sums[Ham] >= w.l.quorum || counts && (!y.IsRevoked() || y.Sums[Ham]+o.Weight < w.l.quorum) {
			continue
		}
		if counts {
			y.Revoked = time.Time{}
		}
		if err := w.restoreAll(k, past, Spam, counts); err != nil {
			return err
		}
		if counts || slices.Contains(w.changed, k) {
			y.Listed = y.Listed || y.Deciding(Spam) >= w.l.quorum
		}
	}
	return nil
}

// restoreAll restores the opinions of a stance, of reports that no longer count for a key.
func (w *withdrawal) restoreAll(k record.Key, past []rows.Past, s Stance, counts bool) error {
	y := w.tallies[k]
	for i, p := range past {
		if p.Report.Stance() != s {
			continue
		}
		if err := w.restoreOne(k, past, i, counts); err != nil {
			return err
		}
	}
	if s == Ham && y.Revoked.IsZero() && y.Sums[Ham] >= w.l.quorum {
		y.Revoked = w.u.At.Truncate(time.Second)
	}
	return nil
}

// restoreOne restores the opinion of a report, unless its reporter said anything else of the key since, or was undone.
func (w *withdrawal) restoreOne(k record.Key, past []rows.Past, i int, counts bool) error {
	y, n, r := w.tallies[k], past[i].Number, past[i].Report
	if r.Refuter == 0 || r.Reporter == w.r.Reporter || w.u.planned[n] && !counts {
		return nil
	}
	isOpen, err := w.isOpen(past, r, counts)
	if err != nil || !isOpen || r.Stance() == Spam && rows.Contradiction(past, i, w.r.Reporter) >= w.l.quorum {
		return err
	}
	_, isSaid, err := w.OpinionOf(k, y, r.Reporter)
	isSaid = isSaid || slices.ContainsFunc(past, func(p rows.Past) bool { return p.Number > n && p.Report.Reporter == r.Reporter })
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
	if !slices.Contains(w.changed, k) {
		w.changed = append(w.changed, k)
	}
	if w.u.DryRun {
		y.Add(o)
		return nil
	}
	y.Forget(n)
	return w.AddOpinion(k, y, o)
}

// isOpen reports whether a refuted report may count again: the reporter who is undone refuted it, or one whose own
// word nobody else has refuted. What does not count any more concerns those alone whom the undone reporter refuted.
func (w *withdrawal) isOpen(past []rows.Past, r *record.Report, counts bool) (bool, error) {
	by, err := w.Report(r.Refuter)
	switch {
	case err != nil:
		return false, err
	case by != nil && by.Reporter == w.r.Reporter:
		return w.u.has(by), nil
	case by == nil || !counts:
		return counts, nil
	}
	return !slices.ContainsFunc(past, func(p rows.Past) bool {
		return p.Report.Reporter == by.Reporter && p.Report.Stance() == by.Stance() && p.Report.Refuter != 0
	}), nil
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
	return record.Where(w.r.Set, w.r.Anchors, func(k record.Key) bool {
		y := w.tallies[k]
		return y.Listed || w.r.Flags&record.FlagForeign != 0 && !y.IsRevoked()
	})
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
			y.Unlist(w.u.At)
		}
	}
	for k, y := range w.tallies {
		if err := w.PutTally(k, y); err != nil {
			return err
		}
	}
	w.r.Flags, w.r.Refuter = w.r.Flags|record.FlagWithdrawn, 0
	if err := w.PutReport(w.n, w.r); err != nil {
		return err
	}
	for _, n := range w.acquitted {
		if err := w.reopen(n); err != nil {
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

// reopen takes the charge for a report back, and its refutation if no signature has it among what does not count.
func (w *withdrawal) reopen(n uint64) error {
	r, err := w.Report(n)
	if err != nil || r == nil {
		return err
	}
	if err := w.acquit(n, r, w.u.At); err != nil {
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
