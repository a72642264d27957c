package ledger

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/rows"
	"github.com/spambloom/spambloom/reporting/trust"
)

// credit gives credit to the reporters who made the same statement before the message was listed
// or revoked, and returns the credit of this reporter. A reporter who comes later confirms
// others and earns nothing. Idle revocations neither give nor earn credit, nor do traps: a reporter can send them spam of
// his own.
func (w *entering) credit(early bool) (Weight, error) {
	if w.idle || w.e.Trap {
		return 0, nil
	}
	words := map[record.Key][]record.Opinion{}
	for _, k := range w.fresh {
		for _, o := range w.tallies[k].Inline {
			if o.Early && o.Stance() == w.e.Stance && o.Reporter != w.row.ID {
				words[k] = append(words[k], o)
			}
		}
	}
	list, _ := rows.Alike(w.e.Set, w.e.Anchors, words)
	for _, o := range list {
		full, err := w.confirm(o)
		if err != nil {
			return 0, err
		}
		for k := range words {
			w.tallies[k].SetEarly(o.Report, !full)
		}
	}
	if !early {
		return 0, nil
	}
	others := rows.Strongest(w.e.Set, w.e.Anchors, func(k record.Key) (Weight, bool) { return w.tallies[k].Sums[w.e.Stance], slices.Contains(w.fresh, k) })
	credit := min(others, record.NewWeight(trust.MaxCredit))
	w.experience(w.row, credit.Float(), 0, w.e.At)
	return credit, nil
}

// confirm credits one report with this reporter's weight. full reports whether it has the most
// that a report can earn.
func (w *entering) confirm(o record.Opinion) (full bool, err error) {
	r, err := w.Report(o.Report)
	if err != nil || r == nil || r.Flags&record.FlagRefuted != 0 {
		return true, err
	}
	most := record.NewWeight(trust.MaxCredit)
	add := min(w.weight, most-r.Credit)
	if add <= 0 {
		return r.Credit >= most, nil
	}
	other, err := w.ReporterByID(o.Reporter)
	if err != nil {
		return false, err
	}
	if other != nil {
		w.experience(other, add.Float(), 0, w.e.At)
	}
	r.Credit += add
	return r.Credit >= most, w.PutReport(o.Report, r)
}

// refute closes the case of the reporters of the other stance. Their reports no longer count for what is decided, and
// each is refuted once. Reports of other messages that have an anchor in common with
// this one by chance are not changed.
func (w *entering) refute(by uint64, decided, closed []record.Key) error {
	if len(closed) == 0 {
		return nil
	}
	words, standing, err := w.Sides(decided, w.tallies, w.e.Stance, func(k record.Key) bool { // of what waits, only an administrator
		return w.e.Reporter == Settler || w.listed || !w.tallies[k].IsWaiting()
	})
	if err != nil {
		return err
	}
	w.standing = standing
	if err := w.agree(by, closed); err != nil {
		return err
	}
	ended := map[record.Key][]record.Opinion{}
	for _, k := range closed {
		ended[k] = words[k]
	}
	list, isAlike := rows.Alike(w.e.Set, w.e.Anchors, ended)
	slices.SortFunc(list, func(a, b record.Opinion) int { return cmp.Compare(a.Report, b.Report) })
	for _, o := range list {
		r, err := w.Report(o.Report)
		if err == nil && r != nil {
			r.Refuter = cmp.Or(r.Refuter, by)
			err = errors.Join(w.PutReport(o.Report, r), w.charge(o.Report, r))
		}
		if err != nil {
			return err
		}
	}
	for k, opinions := range words {
		for _, o := range slices.DeleteFunc(opinions, func(o record.Opinion) bool { return !isAlike[o.Report] }) {
			if err := w.RemoveOpinion(k, w.tallies[k], o); err != nil {
				return err
			}
		}
	}
	return nil
}

// experience adds to a reporter's reputation.
func (t *txn) experience(r *record.Reporter, confirmed, refuted float64, now time.Time) {
	r.Reputation = t.l.opt.Model.Add(r.Reputation, confirmed, refuted, now.Truncate(time.Second).UTC())
	r.Dirty = true
}

// weight returns the weight of a report that is made now.
func (l *Ledger) weight(r *record.Reporter, trap bool, now time.Time) Weight {
	switch {
	case r != nil && r.Fixed:
		return r.Override
	case trap:
		return l.quorum
	case r == nil:
		return record.NewWeight(l.opt.Model.Weight(trust.Reputation{At: now}, now))
	}
	return record.NewWeight(l.opt.Model.Weight(r.Reputation, now))
}
