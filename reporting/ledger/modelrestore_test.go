package ledger

import (
	"slices"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
)

// restore acquits those whom a word refuted that does not count any more; their reports count again.
func (m *model) restore(keys []record.Key, by *modelReport) {
	for _, x := range m.unfounded(by, by.stance, nil) {
		for _, k := range keys {
			if c := m.caseOf(k); by.stance == Spam && slices.Contains(c.past, x) && c.of(x.by) == nil {
				c.past = slices.DeleteFunc(c.past, func(y *modelReport) bool { return y == x })
				c.add(x)
				c.words[len(c.words)-1].acquitted = true
			}
		}
		x.refuted, x.refuter = false, nil
		m.experience(x.by, x.credit.Float(), -trust.Refutation, by.at)
	}
}

// unfounded returns the words of others about a message that are refuted by one by which its reporter does not stand for one of
// its signatures, or only by the one that ends, the oldest first.
func (m *model) unfounded(about *modelReport, s Stance, ends *modelReport) (list []*modelReport) {
	for _, x := range m.reports {
		if x.refuter == nil || x.stance != s || x.undone || x.by == about.by {
			continue
		}
		for _, g := range about.set.Signatures {
			c := m.caseOf(record.SignatureKey(g))
			w := c.of(x.refuter.by)
			if slices.Contains(c.past, x) && (w == nil || w.stance != x.refuter.stance || w.modelReport == ends) {
				list = append(list, x)
				break
			}
		}
	}
	return list
}
