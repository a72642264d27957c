package ledger

import (
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// charge charges the reporter of a refuted report, if anybody is for its opposite who was not behind the last charge.
func (m *model) charge(r, by *modelReport, closed []record.Key, at time.Time) {
	who := m.reporters[r.by]
	if r.charged || who == nil {
		return
	}
	against := []*modelWord{{modelReport: by, weight: by.weight}}
	for _, g := range r.set.Signatures {
		if k := record.SignatureKey(g); slices.Contains(closed, k) {
			for _, w := range m.caseOf(k).words {
				if w.first && !w.idle && w.stance == by.stance {
					against = append(against, w)
				}
			}
		}
	}
	for _, a := range against {
		if accuser := m.reporters[a.by]; a.weight > 0 && accuser != who.accuser {
			r.charged, who.accuser = true, accuser
			m.experience(r.by, -r.credit.Float(), trust.Refutation, at)
			return
		}
	}
}

// agree charges for what was refuted before, and not charged.
func (m *model) agree(by *modelReport, closed []record.Key, at time.Time) {
	for _, k := range closed {
		if !isOf(by.set, k) {
			continue
		}
		for _, x := range m.caseOf(k).past {
			if x.refuter != nil && !x.undone && x.by != by.by && x.stance != by.stance {
				m.charge(x, by, closed, at)
			}
		}
	}
}

func isOf(set signature.Set, k record.Key) bool {
	return slices.ContainsFunc(set.Signatures, func(g signature.Signature) bool { return record.SignatureKey(g) == k })
}

// discharge takes back what has not faded of a charge, and of the credit.
func (m *model) discharge(r *modelReport, now time.Time) {
	r.charged = false
	faded := func(since time.Time) float64 {
		if age := now.Truncate(time.Second).Sub(since); age > 0 {
			return math.Exp2(-float64(age) / float64(m.trust.HalfLife))
		}
		return 1
	}
	since := r.refuter.at
	if r.refuter.forgotten {
		since = r.at
	}
	m.experience(r.by, r.credit.Float()*faded(r.at), -trust.Refutation*faded(since), now)
}

// pardon takes charges back that words brought which their reporter has reversed, unless a quorum of others is
// for the same of any signature.
func (m *model) pardon(r *modelReport, reversed []*modelReport, at time.Time) {
	for _, g := range r.set.Signatures {
		for _, x := range m.caseOf(record.SignatureKey(g)).past {
			isLost := !slices.ContainsFunc(x.set.Signatures, func(g signature.Signature) bool { return m.caseOf(record.SignatureKey(g)).sum(1-x.stance) >= m.quorum })
			if x.charged && !x.undone && slices.Contains(reversed, x.refuter) && isLost {
				m.discharge(x, at)
			}
		}
	}
}
