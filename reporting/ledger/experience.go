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
// others and earns nothing. Idle revocations neither give nor earn credit.
func (w *entering) credit(early bool) (Weight, error) {
	if w.idle {
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

// refute closes the case of the reporters of the other stance. Their reports no longer count, and
// each is refuted once. Reports of other messages that have an anchor in common with
// this one by chance are not changed.
func (w *entering) refute(by uint64, closed []record.Key) error {
	words, err := w.sides(closed)
	if err != nil {
		return err
	}
	if err := w.agree(by, closed); err != nil {
		return err
	}
	list, isAlike := rows.Alike(w.e.Set, w.e.Anchors, words)
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

// sides returns the opinions of the other stance, and notes who stands by the entry's, those who came first. If nothing
// is listed, only an administrator refutes a report that waits.
func (w *entering) sides(closed []record.Key) (words map[record.Key][]record.Opinion, err error) {
	words = map[record.Key][]record.Opinion{}
	for _, k := range closed {
		var standing []record.Opinion
		err := w.EachOpinion(k, w.tallies[k], func(o record.Opinion) bool {
			switch {
			case o.Idle:
			case o.Stance() == w.e.Stance && o.Weight > 0:
				standing = append(standing, o)
			case o.Stance() != w.e.Stance && (w.e.Reporter == Settler || w.listed || !w.tallies[k].IsWaiting()):
				words[k] = append(words[k], o)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(standing, func(a, b record.Opinion) int { return cmp.Compare(a.Reporter, b.Reporter) })
		w.standing[k] = standing[:min(len(standing), rows.MaxStanding)]
		slices.SortFunc(words[k], func(a, b record.Opinion) int { // a tally remembers the last ones: who has weight to lose
			return cmp.Or(cmp.Compare(min(a.Weight, 1), min(b.Weight, 1)), cmp.Compare(a.Report, b.Report))
		})
	}
	return words, nil
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
