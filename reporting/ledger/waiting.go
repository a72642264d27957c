package ledger

import (
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// Report returns one report. Of one that has expired it returns the zero value.
func (l *Ledger) Report(n uint64) (p Report, err error) {
	err = l.view(func(t *txn) error {
		r, err := t.report(n)
		if err != nil || r == nil {
			return err
		}
		row, err := t.reporterByID(r.Reporter)
		p = public(n, r, row)
		return err
	})
	return p, err
}

// Waiting returns the revocations since a time that wait for a listing, at most limit, the
// newest first.
func (l *Ledger) Waiting(since time.Time, limit int) (list []Report, err error) {
	err = l.view(func(t *txn) error {
		return t.allReports(Query{Since: since}, func(n uint64) (more bool, err error) {
			r, err := t.report(n)
			if err != nil || r == nil || r.Flags&record.FlagIdle == 0 || r.State() != Counts || r.At.Before(since) {
				return true, err
			}
			row, err := t.reporterByID(r.Reporter)
			if err != nil {
				return false, err
			}
			list = append(list, public(n, r, row))
			return len(list) < limit, nil
		})
	})
	return list, err
}

// Lapse withdraws a revocation that has waited in vain.
func (l *Ledger) Lapse(n uint64, now time.Time) error {
	return l.commit(func(t *txn) (refused, err error) {
		r, err := t.report(n)
		if err != nil || r == nil || r.Flags&record.FlagIdle == 0 {
			return nil, err
		}
		return nil, t.withdrawOne(n, r, Undo{At: now}, &Undone{})
	})
}
