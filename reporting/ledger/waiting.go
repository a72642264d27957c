package ledger

import (
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// Lapse withdraws a revocation that has waited in vain.
func (l *Ledger) Lapse(n uint64, now time.Time) error {
	return l.commit(func(t *txn) (refused, err error) {
		r, err := t.Report(n)
		if err != nil || r == nil || r.Flags&record.FlagIdle == 0 {
			return nil, err
		}
		return nil, t.withdrawOne(n, r, Undo{At: now}, &Undone{})
	})
}
