package ledger

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// undo withdraws everything that a reporter has reported or revoked since then, the newest
// first.
func (m *model) undo(name string, since, now time.Time) {
	m.period = now.Add(1000 * time.Hour) // later than every revocation
	for _, r := range slices.Backward(m.reports) {
		if r.by != name || r.at.Before(since) {
			continue
		}
		before, wasNear := m.parts(r.set, r.anchors, r.stance), r.stance == Spam && m.listed(r).near
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
		r.undone = r.undone || len(mine) > 0 || r.refuter != nil
		after := m.parts(r.set, r.anchors, r.stance)
		if r.stance == Spam {
			m.keep(before.lost(after).does(Ham), r)
		} else {
			lost := before.less(after) // a revoked near-duplicate revokes no text
			listed := m.listedAgain(r)
			r.undone = m.acquit(r, mine, now) || r.undone
			again := m.listedAgain(r)
			m.keep(again.less(listed).plus(lost.less(lost.less(again))).does(Spam), r)
		}
		for _, k := range mine { // after the reports that they refuted are restored
			m.caseOf(k).leaving = false
			m.caseOf(k).remember(r)
		}
		for _, k := range record.KeysOf(r.set, r.anchors) {
			m.tidy(k)
		}
		m.revokeKept(r, wasNear)
	}
}

// revokeKept keeps a revocation of each text that has lost the quorum, if the sketch of r, a
// near-duplicate, was listed and is no longer.
func (m *model) revokeKept(by *modelReport, wasNear bool) {
	if !wasNear || m.listed(by).near {
		return
	}
	taken := map[record.Key]bool{}
	revoke := func(r *modelReport) {
		if r == by || r.stance == Ham || m.listed(r).near {
			return
		}
		var d modelDecision
		for _, g := range r.set.Signatures {
			k := record.SignatureKey(g)
			if c := m.caseOf(k); g.Kind.IsOfMessage() && !taken[k] && !c.listed && !c.lost.IsZero() && !c.lost.Before(c.revoked) {
				d.keys, taken[k] = append(d.keys, k), true
			}
			m.tidy(k)
		}
		m.keep(d.does(Ham), r)
	}
	withdrawn := m.withdrawnLike(by)
	for _, r := range slices.Backward(m.reports) {
		// a case has only the latest report of each reporter
		if m.recalls(r, by) || withdrawn[r.by] && by.isLike(r) {
			revoke(r)
		}
	}
}

// withdrawnLike returns the reporters who have withdrawn reports with enough anchors of a message, in one
// report or in several.
func (m *model) withdrawnLike(by *modelReport) map[string]bool {
	names := map[string]bool{}
	for i, a := range by.anchors {
		times := map[string]int{}
		for _, h := range a.Hashes {
			here := map[string]bool{}
			if c := m.cases[record.AnchorKey(by.set.Sketches[i].Kind, h)]; c != nil {
				for _, r := range c.past {
					here[r.by] = here[r.by] || r != by && (r.undone || r.replaced)
				}
			}
			for name, is := range here {
				if is {
					times[name]++
				}
			}
		}
		for name, n := range times {
			if a.Need > 0 && n >= a.Need && m.reporters[name] != nil {
				names[name] = true
			}
		}
	}
	return names
}

// isLike reports whether another report has enough anchors of this one.
func (r *modelReport) isLike(other *modelReport) bool {
	keys := record.KeysOf(other.set, other.anchors)
	for i, a := range r.anchors {
		kind := r.set.Sketches[i].Kind
		if a.Need > 0 && count(a.Hashes, func(h uint64) bool { return slices.Contains(keys, record.AnchorKey(kind, h)) }) >= a.Need {
			return true
		}
	}
	return false
}

// recalls reports whether the cases of a message by still have a report: one of a signature, or
// enough of its anchors.
func (m *model) recalls(r, by *modelReport) bool {
	has := func(k record.Key) bool {
		c := m.cases[k]
		return c != nil && (slices.Contains(c.past, r) || slices.ContainsFunc(c.words, func(w *modelWord) bool { return w.modelReport == r }))
	}
	for _, g := range by.set.Signatures {
		if has(record.SignatureKey(g)) {
			return true
		}
	}
	for i, a := range by.anchors {
		kind := by.set.Sketches[i].Kind
		if a.Need > 0 && count(a.Hashes, func(h uint64) bool { return has(record.AnchorKey(kind, h)) }) >= a.Need {
			return true
		}
	}
	return false
}

// listed returns the parts of a report's message that are listed.
func (m *model) listed(r *modelReport) modelDecision {
	return m.where(r, func(c *modelCase) bool { return c.listed })
}

// where returns the parts of a report's message whose cases are so.
func (m *model) where(r *modelReport, is func(*modelCase) bool) modelDecision {
	so := *m
	so.cases = map[record.Key]*modelCase{}
	for _, k := range record.KeysOf(r.set, r.anchors) {
		so.cases[k] = &modelCase{}
		if c := m.cases[k]; c != nil && is(c) || c == nil && is(&modelCase{}) {
			so.cases[k].words = []*modelWord{{modelReport: &modelReport{stance: Spam}, weight: m.quorum}}
		}
	}
	return so.parts(r.set, r.anchors, Spam)
}

// acquit restores the reports that a revocation has refuted, for the keys that no other
// revocation keeps revoked: where the revocation counted, all refuted ones. It returns whether there were any.
func (m *model) acquit(r *modelReport, mine []record.Key, now time.Time) bool {
	acquitted := map[*modelReport]bool{}
	for _, k := range record.KeysOf(r.set, r.anchors) {
		c, counted := m.caseOf(k), slices.Contains(mine, k)
		if c.sum(Ham) >= m.quorum || counted && (c.listed || c.revoked.IsZero() || r.idle || c.sum(Ham)+r.weight < m.quorum) {
			continue
		}
		if counted {
			c.revoked = time.Time{}
		}
		isChanged := counted
		for _, x := range slices.Clone(c.past) {
			if x.refuter == nil || x.by == r.by || x.stance == Ham || x.undone || (x.refuter.by != r.by || x.refuter.forgotten) && !counted {
				continue
			}
			if c.of(x.by) != nil && !x.charged {
				continue
			}
			acquitted[x] = true
			if c.of(x.by) != nil {
				continue
			}
			isChanged = true
			c.past = slices.DeleteFunc(c.past, func(y *modelReport) bool { return y == x })
			c.add(x)
			w := c.words[len(c.words)-1]
			w.acquitted = true
			if o := m.reporters[x.by]; o != nil && o.override != nil {
				w.weight = min(w.weight, *o.override)
			}
		}
		c.listed = c.listed || isChanged && c.sum(Spam) >= m.quorum
	}
	for x := range acquitted {
		if x.charged {
			m.discharge(x, now)
		}
		if !slices.ContainsFunc(x.set.Signatures, func(g signature.Signature) bool {
			return slices.Contains(m.caseOf(record.SignatureKey(g)).past, x)
		}) {
			x.refuter = nil
		}
	}
	return len(acquitted) > 0
}

// listedAgain returns the parts that are listed, and those that only other sites listed and that
// are no longer revoked.
func (m *model) listedAgain(r *modelReport) modelDecision {
	return m.where(r, func(c *modelCase) bool { return c.listed || r.foreign && c.revoked.IsZero() })
}

// still returns the parts of a decision that are still right. A part to be listed must be
// listed, or after an undo not be revoked. A part to be revoked must not be listed.
func (m *model) still(d modelDecision) modelDecision {
	r := d.report
	now := m.where(r, func(c *modelCase) bool {
		if d.action == List && r.stance == Ham {
			return c.listed || c.revoked.IsZero()
		}
		return c.listed == (d.action == List)
	})
	stance := Spam
	if d.action == Revoke {
		stance = Ham
	}
	return d.less(d.less(now)).does(stance)
}

// tidy removes an empty case.
func (m *model) tidy(k record.Key) {
	if c := m.cases[k]; c != nil && len(c.words)+len(c.past) == 0 {
		delete(m.cases, k)
	}
}

// expire removes all data older than memory.
func (m *model) expire(now time.Time, memory time.Duration) {
	for len(m.reports) > 0 && m.reports[0].at.Before(now.Add(-memory)) {
		r := m.reports[0]
		m.reports, r.forgotten = m.reports[1:], true
		for _, k := range record.KeysOf(r.set, r.anchors) {
			c := m.caseOf(k)
			if w := c.of(r.by); w != nil && w.modelReport == r {
				c.remove(w)
			}
			c.past = slices.DeleteFunc(c.past, func(x *modelReport) bool { return x == r })
			m.tidy(k)
		}
	}
	for name, r := range m.reporters {
		if r.override == nil && r.last.Before(now.Add(-max(memory, 10*m.trust.HalfLife))) {
			delete(m.reporters, name)
		}
	}
}
