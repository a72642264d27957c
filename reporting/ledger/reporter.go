package ledger

import (
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
)

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
