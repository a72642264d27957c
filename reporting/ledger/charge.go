package ledger

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/rows"
	"github.com/spambloom/spambloom/reporting/trust"
)

// charge takes reputation from the reporter of a refuted report, once, with the credit of the report. Only what
// contradicts its text counts: a file may be anybody's. A reporter behind the last charge is not behind
// the next one: else one who revokes what others report, or reports what they revoke, would take their weight alone.
// A trap never is: anybody can send it a copy of what was revoked.
func (w *entering) charge(n uint64, r *record.Report) error {
	other, err := w.ReporterByID(r.Reporter)
	if err != nil || other == nil || r.Flags&record.FlagRefuted != 0 {
		return err
	}
	set, anchors := rows.TextOf(r)
	if !record.Where(set, anchors, func(k record.Key) bool { _, is := w.standing[k]; return is }).Any() {
		return nil
	}
	accuser := record.Opinion{Reporter: w.row.ID}
	if w.e.Trap || w.row.ID == other.Accuser && w.e.Reporter != Settler {
		list, _ := rows.Alike(set, anchors, w.standing)
		if accuser, err = w.Accuser(list, other.Accuser, w.row.ID, r.Reporter); err != nil || accuser.Reporter == 0 {
			return err
		}
	}
	r.Flags, other.Accuser = r.Flags|record.FlagRefuted, accuser.Reporter
	w.experience(other, -r.Credit.Float(), trust.Refutation, w.e.At)
	return w.PutReport(n, r)
}

// agree charges for reports that were refuted before without a charge: one more agrees with that, and counts as who
// has refuted them.
func (w *entering) agree(by uint64, closed []record.Key) error {
	return w.EachRefuted(closed, w.tallies, func(n uint64, r *record.Report) error {
		if r.Reporter == w.row.ID || r.Stance() == w.e.Stance || r.Flags&record.FlagRefuted != 0 {
			return nil
		}
		r.Refuter = by
		return w.charge(n, r) // writes it if it charges
	})
}

// pardon takes the charges back that earlier words of this reporter brought which it has reversed, where nobody else
// stands by them; else those refute. The reports do not count again: new ones decide.
func (w *entering) pardon(reversed map[uint64]bool) error {
	if len(reversed) == 0 {
		return nil
	}
	return w.EachRefuted(w.keys, w.tallies, func(n uint64, r *record.Report) error {
		if !reversed[r.Refuter] || r.Flags&record.FlagRefuted == 0 {
			return nil
		}
		standing, err := w.Standing(r, w.row.ID) // whose word is in the file yet
		if err != nil {
			return err
		}
		other, err := w.Accuser(standing)
		if err != nil || other.Reporter == 0 {
			return errors.Join(err, w.acquit(n, r, w.e.At))
		}
		r.Refuter = other.Report
		return w.PutReport(n, r)
	})
}

// acquit takes back what is left of the charge for a report, and of its credit.
func (t *txn) acquit(n uint64, r *record.Report, now time.Time) error {
	if r.Flags&record.FlagRefuted == 0 {
		return nil
	}
	r.Flags &^= record.FlagRefuted
	row, err := t.ReporterByID(r.Reporter)
	if err != nil {
		return err
	}
	since := r.At
	if refuter, err := t.Report(r.Refuter); err != nil {
		return err
	} else if refuter != nil {
		since = refuter.At
	}
	if row != nil {
		left := func(of trust.Reputation, at time.Time) trust.Reputation {
			of.At = at.Truncate(time.Second)
			return t.l.opt.Model.At(of, now.Truncate(time.Second))
		}
		credit, charge := left(trust.Reputation{Confirmed: r.Credit.Float()}, r.At), left(trust.Reputation{Refuted: trust.Refutation}, since)
		t.experience(row, credit.Confirmed, -charge.Refuted, now)
	}
	return t.PutReport(n, r)
}

// absolveAll goes through all reports that the undone words refuted, also those that no tally remembers, and then through
// those words, for what they kept listed together.
func (l *Ledger) absolveAll(u Undo) error {
	var words map[uint64]bool
	var numbers []uint64
	err := l.view(func(t *txn) (err error) {
		words, err = t.WordsOf(u.Reporter, u.has)
		return err
	})
	for before, more := uint64(0), len(words) > 0; more && err == nil; more = before != 0 {
		err = l.view(func(t *txn) error { // of a bounded size, because a transaction that writes may have to wait for it
			list, next, err := t.RefutedBy(words, before, 10*undoBatch)
			numbers, before = append(numbers, list...), next
			return err
		})
	}
	for batch := range slices.Chunk(numbers, undoBatch) {
		if err == nil {
			err = l.commit(func(t *txn) (refused, err error) {
				for _, n := range batch {
					if err := t.absolve(n, u); err != nil {
						return nil, err
					}
				}
				return nil, t.Flush()
			})
		}
	}
	taken := map[record.Key]bool{}
	err = cmp.Or(err, l.view(func(t *txn) error { return t.TakeDue(taken) }))
	for batch := range slices.Chunk(slices.Sorted(maps.Keys(words)), undoBatch) {
		if err == nil {
			err = l.commit(func(t *txn) (refused, err error) { return nil, t.RevokeLost(batch, taken) })
		}
	}
	return err
}

// absolve takes the charge for a report back, if no quorum says the opposite of its text any more, or only traps do, or
// only one reporter and that one, or the undone one, was behind the last charge. It notes who still refutes the report.
func (t *txn) absolve(n uint64, u Undo) error {
	r, err := t.Report(n)
	if err != nil || r == nil {
		return err
	}
	is, err := t.IsContradicted(r, t.l.quorum)
	if err != nil || !is {
		return errors.Join(err, t.acquit(n, r, u.At))
	}
	standing, err := t.Standing(r)
	if err != nil || len(standing) == 0 {
		return err
	}
	first, err := t.Accuser(standing)
	second, fault := t.Accuser(standing, first.Reporter)
	if err = errors.Join(err, fault); err != nil {
		return err
	}
	if second.Reporter == 0 {
		err = t.absolveFrom(first, n, r, u) // as of the word that has refuted it
	}
	r.Refuter = cmp.Or(first.Report, standing[0].Report)
	return errors.Join(err, t.PutReport(n, r))
}

// absolveFrom is absolve where only one reporter still contradicts a report, or none but traps.
func (t *txn) absolveFrom(only record.Opinion, n uint64, r *record.Report, u Undo) error {
	other, err := t.ReporterByID(r.Reporter)
	undone, fault := t.Reporter(u.Reporter)
	settler, more := t.Reporter(Settler)
	err = errors.Join(err, fault, more)
	if err != nil || other == nil || undone == nil || settler != nil && settler.ID == only.Reporter {
		return err
	}
	if only.Reporter != 0 && other.Accuser != undone.ID && other.Accuser != only.Reporter {
		return nil
	}
	other.Accuser, other.Dirty = cmp.Or(only.Reporter, other.Accuser), true
	return t.acquit(n, r, u.At)
}
