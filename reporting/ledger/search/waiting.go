package search

import (
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// Report returns one report. Of one that has expired it returns the zero value.
func (l *Search) Report(n uint64) (p Report, err error) {
	err = l.view(func(t *txn) error {
		r, err := t.Report(n)
		if err != nil || r == nil {
			return err
		}
		row, err := t.ReporterByID(r.Reporter)
		if err == nil {
			p, err = t.public(n, r, row)
		}
		return err
	})
	return p, err
}

// Waiting returns the revocations since a time that wait for a listing, at most limit, the
// newest first.
func (l *Search) Waiting(since time.Time, limit int) (list []Report, err error) {
	err = l.view(func(t *txn) error {
		return t.All(since, 0, func(n uint64) (more bool, err error) {
			r, err := t.Report(n)
			if err != nil || r == nil || r.At.Before(since) {
				return true, err
			}
			if stands, err := t.standsBy(n, r); err != nil || !stands {
				return true, err
			}
			row, err := t.ReporterByID(r.Reporter)
			if err != nil {
				return false, err
			}
			p, err := t.public(n, r, row)
			list = append(list, p)
			return len(list) < limit, err
		})
	})
	return list, err
}

// StandsBy reports whether a revocation waits and its reporter still stands by it: one of the
// message's signatures has it as his opinion. Its state does not show it: another message of
// his with an anchor of a sketch in common renews or withdraws it in part.
func (l *Search) StandsBy(n uint64) (stands bool, err error) {
	err = l.view(func(t *txn) error {
		r, err := t.Report(n)
		if err == nil && r != nil {
			stands, err = t.standsBy(n, r)
		}
		return err
	})
	return stands, err
}

func (t *txn) standsBy(n uint64, r *record.Report) (bool, error) {
	if r.Flags&record.FlagIdle == 0 {
		return false, nil
	}
	for _, s := range r.Set.Signatures {
		k := record.SignatureKey(s)
		y, err := t.Tally(k)
		if err != nil {
			return false, err
		}
		o, ok, err := t.OpinionOf(k, y, r.Reporter)
		if err != nil || ok && o.Report == n {
			return err == nil, err
		}
	}
	return false, nil
}
