package ledger

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
)

// undo withdraws everything that a reporter has reported or revoked since then, the newest
// first.
func (m *model) undo(name string, since, now time.Time) {
	m.period = now.Add(1000 * time.Hour) // later than every revocation
	for _, r := range slices.Backward(m.reports) {
		if r.by != name || r.at.Before(since) {
			continue
		}
		before := m.parts(r.set, r.anchors, r.stance)
		var mine []record.Key
		for _, k := range record.KeysOf(r.set, r.anchors) {
			c := m.caseOf(k)
			if w := c.of(name); w != nil && w.modelReport == r {
				mine = append(mine, k)
				c.leaving = w.first
				c.words = slices.DeleteFunc(c.words, func(x *modelWord) bool { return x == w })
				if r.stance == Spam && c.listed && c.sum(Spam) < m.quorum {
					c.listed, c.lost = false, now.Truncate(time.Second)
				}
			}
		}
		r.undone = r.undone || len(mine) > 0 || r.refuted
		lost := before.lost(m.parts(r.set, r.anchors, r.stance))
		if r.stance == Spam {
			m.keep(lost.does(Ham), r)
		} else {
			m.acquit(r, mine, now)
			m.keep(lost.less(lost.less(m.listedAgain(r))).does(Spam), r)
		}
		for _, k := range mine { // after the reports that they refuted are restored
			m.caseOf(k).leaving = false
			m.caseOf(k).remember(r)
		}
		for _, k := range record.KeysOf(r.set, r.anchors) {
			m.tidy(k)
		}
	}
}

// acquit restores the reports that a revocation has refuted, for the keys that no other
// revocation keeps revoked.
func (m *model) acquit(r *modelReport, mine []record.Key, now time.Time) {
	var restored []*modelReport
	for _, k := range mine {
		c := m.caseOf(k)
		if c.listed || c.revoked.IsZero() || r.idle || c.sum(Ham) >= m.quorum || c.sum(Ham)+r.weight < m.quorum {
			continue
		}
		c.revoked = time.Time{}
		for _, x := range slices.Clone(c.past) {
			if x.refuter != r || x.stance == Ham || x.undone || c.of(x.by) != nil {
				continue
			}
			c.past = slices.DeleteFunc(c.past, func(y *modelReport) bool { return y == x })
			c.add(x)
			c.words[len(c.words)-1].acquitted = true
			if !slices.Contains(restored, x) {
				restored = append(restored, x)
			}
		}
		c.listed = c.sum(Spam) >= m.quorum
	}
	for _, x := range restored {
		x.refuted, x.refuter = false, nil
		m.experience(x.by, x.credit.Float(), -trust.Refutation, now)
	}
}

// listedAgain returns the parts that are listed, and those that only other sites listed and that
// are no longer revoked.
func (m *model) listedAgain(r *modelReport) modelDecision {
	again := *m
	again.cases = map[record.Key]*modelCase{}
	for _, k := range record.KeysOf(r.set, r.anchors) {
		again.cases[k] = &modelCase{}
		if c := m.caseOf(k); c.listed || r.foreign && c.revoked.IsZero() {
			again.cases[k].words = []*modelWord{{modelReport: &modelReport{stance: Spam, weight: m.quorum}}}
		}
	}
	return again.parts(r.set, r.anchors, Spam)
}

// still returns the parts of a decision that are still right. A part to be listed must be
// listed, or after an undo not be revoked. A part to be revoked must not be listed.
func (m *model) still(d modelDecision) modelDecision {
	now, r := *m, d.report
	now.cases = map[record.Key]*modelCase{}
	for _, k := range record.KeysOf(r.set, r.anchors) {
		now.cases[k] = &modelCase{}
		c := m.caseOf(k)
		isRight := c.listed == (d.action == List)
		if d.action == List && r.stance == Ham {
			isRight = c.listed || c.revoked.IsZero()
		}
		if isRight {
			now.cases[k].words = []*modelWord{{modelReport: &modelReport{stance: Spam, weight: m.quorum}}}
		}
	}
	stance := Spam
	if d.action == Revoke {
		stance = Ham
	}
	return d.less(d.less(now.parts(r.set, r.anchors, Spam))).does(stance)
}
