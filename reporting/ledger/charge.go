package ledger

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
)

// charge takes reputation from the reporter of a refuted report, once, with the credit of the report. Whoever was
// behind the reporter's last charge is not behind the next one: else one who revokes what others report, or
// reports what they revoke, would take their weight alone. Only an administrator is.
func (w *entering) charge(n uint64, r *record.Report, closed []record.Key) error {
	other, err := w.ReporterByID(r.Reporter)
	if err != nil || other == nil || r.Flags&record.FlagRefuted != 0 {
		return err
	}
	accuser := w.accuser(r, other.Accuser, closed)
	if accuser == 0 {
		return nil
	}
	r.Flags, other.Accuser = r.Flags|record.FlagRefuted, accuser
	w.experience(other, -r.Credit.Float(), trust.Refutation, w.e.At)
	return w.PutReport(n, r)
}

// accuser returns one who stands by the opposite of a report, other than the last one; 0: there is none.
func (w *entering) accuser(r *record.Report, last uint32, closed []record.Key) uint32 {
	if w.e.Reporter == Settler || w.row.ID != last && w.weight > 0 {
		return w.row.ID
	}
	for _, s := range r.Set.Signatures { // of the report: the entry may name more, which others revoked
		k := record.SignatureKey(s)
		if !slices.Contains(closed, k) {
			continue
		}
		for _, o := range w.tallies[k].Inline {
			if o.Stance() == w.e.Stance && !o.Idle && o.Weight > 0 && o.Reporter != last {
				return o.Reporter
			}
		}
	}
	return 0
}

// agree charges for reports that were refuted before without a charge: one more agrees with that.
func (w *entering) agree(closed []record.Key) error {
	return w.EachRefuted(w.signatures(closed), w.tallies, func(n uint64, r *record.Report) error {
		if r.Reporter == w.row.ID || r.Stance() == w.e.Stance {
			return nil
		}
		return w.charge(n, r, closed)
	})
}

// pardon takes the charges back that earlier words of this reporter brought which it has reversed, where nobody
// stands by them with the quorum. The reports do not count again: new ones decide.
func (w *entering) pardon(reversed map[uint64]bool) error {
	if len(reversed) == 0 {
		return nil
	}
	return w.EachRefuted(w.signatures(w.keys), w.tallies, func(n uint64, r *record.Report) error {
		if !reversed[r.Refuter] {
			return nil
		}
		for _, s := range r.Set.Signatures {
			k := record.SignatureKey(s)
			y, err := w.tallies[k], error(nil)
			if y == nil {
				y, err = w.Tally(k)
			}
			if err != nil || y.Sums[1-r.Stance()] >= w.l.quorum {
				return err
			}
		}
		return w.acquit(n, r, w.e.At)
	})
}

// signatures returns the keys of signatures.
func (w *entering) signatures(keys []record.Key) []record.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k record.Key) bool { return !w.isSignature(k) })
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
