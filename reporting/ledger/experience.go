package ledger

import (
	"slices"

	"github.com/spambloom/spambloom/reporting/trust"
)

// alike are the words, given by key, of reports that are about the entry's message: they
// share a signature with it, or as many anchors of a sketch as tell a near-duplicate.
// One anchor in common says nothing: it may be three words that stand in many messages.
// Each report is named once.
func (w *entering) alike(words map[Key][]opinion) (list []opinion) {
	seen := map[uint64]bool{}
	add := func(o opinion) {
		if !seen[o.report] {
			seen[o.report], list = true, append(list, o)
		}
	}
	for _, s := range w.e.Set.Signatures {
		for _, o := range words[signatureKey(s)] {
			add(o)
		}
	}
	for i, a := range w.e.Anchors {
		common := map[uint64]int{}
		for _, h := range a.Hashes {
			for _, o := range words[anchorKey(w.e.Set.Sketches[i].Kind, h)] {
				if common[o.report]++; common[o.report] == a.Need {
					add(o)
				}
			}
		}
	}
	return list
}

// others is the weight of those who said the same of this message, where this reporter
// says something new of it.
func (w *entering) others() (most Weight) {
	fresh := map[Key]bool{}
	for _, k := range w.fresh {
		fresh[k] = true
	}
	for _, s := range w.e.Set.Signatures {
		if k := signatureKey(s); fresh[k] {
			most = max(most, w.tallies[k].sums[w.e.Stance])
		}
	}
	for i, a := range w.e.Anchors {
		var sums []Weight
		for _, h := range a.Hashes {
			if k := anchorKey(w.e.Set.Sketches[i].Kind, h); fresh[k] {
				sums = append(sums, w.tallies[k].sums[w.e.Stance])
			}
		}
		if a.Need > 0 && len(sums) >= a.Need {
			slices.Sort(sums)
			most = max(most, sums[len(sums)-a.Need])
		}
	}
	return most
}

// setEarly says whether a report may still be confirmed.
func (y *tally) setEarly(report uint64, early bool) {
	for i := range y.inline {
		if y.inline[i].report == report {
			y.inline[i].early = early
		}
	}
}

// credit, of what is not idle, gives those their due who said the same before the message was listed, or
// taken back, and returns what this reporter gets for it: who comes later confirms
// others and earns nothing.
func (w *entering) credit(early bool) (Weight, error) {
	if w.idle {
		return 0, nil
	}
	words := map[Key][]opinion{}
	for _, k := range w.fresh {
		for _, o := range w.tallies[k].inline {
			if o.early && o.stance() == w.e.Stance && o.reporter != w.row.id {
				words[k] = append(words[k], o)
			}
		}
	}
	for _, o := range w.alike(words) {
		full, err := w.confirm(o)
		if err != nil {
			return 0, err
		}
		for k := range words {
			w.tallies[k].setEarly(o.report, !full)
		}
	}
	if !early {
		return 0, nil
	}
	credit := min(w.others(), newWeight(trust.MaxCredit))
	w.experience(w.row, credit.Float(), 0, w.e.At)
	return credit, nil
}

// confirm credits one report with this reporter's weight; full says that it has all
// that a report can earn.
func (w *entering) confirm(o opinion) (full bool, err error) {
	r, err := w.report(o.report)
	if err != nil || r == nil {
		return true, err
	}
	most := newWeight(trust.MaxCredit)
	add := min(w.weight, most-r.credit)
	if add <= 0 {
		return r.credit >= most, nil
	}
	other, err := w.reporterByID(o.reporter)
	if err != nil {
		return false, err
	}
	if other != nil {
		w.experience(other, add.Float(), 0, w.e.At)
	}
	r.credit += add
	return r.credit >= most, w.putReport(o.report, r)
}

// refute closes the case of those who said the opposite: their reports no longer count,
// and each was wrong once. Reports of other messages, which have an anchor in common
// with this one by chance, stay as they are.
func (w *entering) refute(closed []Key) error {
	words := map[Key][]opinion{}
	for _, k := range closed {
		if err := w.eachOpinion(k, w.tallies[k], func(o opinion) bool {
			if o.stance() != w.e.Stance && !o.idle {
				words[k] = append(words[k], o)
			}
			return true
		}); err != nil {
			return err
		}
	}
	for _, o := range w.alike(words) {
		for _, k := range closed {
			if i := slices.IndexFunc(words[k], func(other opinion) bool { return other.report == o.report }); i >= 0 {
				if err := w.removeOpinion(k, w.tallies[k], words[k][i]); err != nil {
					return err
				}
			}
		}
		if err := w.wrong(o); err != nil {
			return err
		}
	}
	return nil
}

// wrong counts one report against its reporter, once, and takes back what it has earned.
func (w *entering) wrong(o opinion) error {
	r, err := w.report(o.report)
	if err != nil || r == nil || r.flags&flagRefuted != 0 {
		return err
	}
	r.flags |= flagRefuted
	if other, err := w.reporterByID(o.reporter); err != nil {
		return err
	} else if other != nil {
		w.experience(other, -r.credit.Float(), trust.Refutation, w.e.At)
	}
	return w.putReport(o.report, r)
}
