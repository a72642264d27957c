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
	m.period, m.now = now.Add(1000*time.Hour), now // later than every revocation
	m.since = since
	for _, r := range slices.Backward(m.reports) {
		if r.by != name || r.at.Before(since) {
			continue
		}
		before, wasNear := m.parts(r.set, r.anchors, r.stance), r.stance == Spam && m.listed(r).near
		mine := map[record.Key]Weight{}
		for _, k := range record.KeysOf(r.set, r.anchors) {
			c := m.caseOf(k)
			if w := c.of(name); w != nil && w.modelReport == r {
				mine[k] = w.weight
				c.leaving = w.first
				c.words = slices.DeleteFunc(c.words, func(x *modelWord) bool { return x == w })
				if r.stance == Spam && c.listed && c.sum(Spam) < m.quorum {
					c.listed, c.lost = false, now.Truncate(time.Second)
				}
			}
		}
		r.undone = r.undone || len(mine) > 0 || r.refuter != nil
		after := m.parts(r.set, r.anchors, r.stance)
		listed := m.listedAgain(r)
		acquitted := m.acquit(r, mine)
		r.undone = len(acquitted) > 0 || r.undone
		if r.stance == Spam {
			m.keep(before.lost(after).does(Ham), r)
		} else {
			lost := before.less(after) // a revoked near-duplicate revokes no text
			again := m.listedAgain(r)
			m.keep(again.less(listed).plus(lost.less(lost.less(again))).does(Spam), r)
		}
		for k := range mine { // after the reports that they refuted are restored
			m.caseOf(k).leaving = false
			m.caseOf(k).remember(r)
		}
		m.reopen(acquitted, now)
		for _, k := range record.KeysOf(r.set, r.anchors) {
			m.tidy(k)
		}
		m.revokeKept(r, wasNear)
	}
	for _, x := range slices.Backward(m.reports) {
		if x.refuter != nil && !x.undone && x.refuter.by == name && !x.refuter.forgotten && !x.refuter.at.Before(since) {
			m.absolve(x, name, now)
		}
	}
	taken := map[record.Key]bool{}
	for _, d := range m.due {
		for _, k := range d.keys {
			taken[k] = taken[k] || d.action == Revoke && !d.report.forgotten
		}
	}
	for _, r := range m.reports {
		if r.by == name && !r.at.Before(since) {
			m.revokeLost(r, taken)
		}
	}
}

// revokeKept keeps a revocation of each text that has lost the quorum, if the sketch of r, a
// near-duplicate, was listed and is no longer.
func (m *model) revokeKept(by *modelReport, wasNear bool) {
	if !wasNear || m.listed(by).near {
		return
	}
	taken := map[record.Key]bool{}
	withdrawn := m.withdrawnLike(by)
	for _, r := range slices.Backward(m.reports) {
		// a case has only the latest report of each reporter
		if r != by && (m.recalls(r, by) || withdrawn[r.by] && by.isLike(r)) {
			m.revokeLost(r, taken)
		}
	}
}

// revokeLost keeps a revocation of a text that has lost the quorum, as its sketch has.
func (m *model) revokeLost(r *modelReport, taken map[record.Key]bool) {
	if r.stance == Ham || m.listed(r).near {
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

// acquit restores the words that a report or revocation has refuted, for the keys where no others keep them
// refuted: first revocations, also those that other words of its reporter refuted. It returns those which it restores, or whose
// reporters have said the same or another thing since.
func (m *model) acquit(r *modelReport, mine map[record.Key]Weight) (acquitted []*modelReport) {
	if r.idle {
		return nil
	}
	for _, k := range record.KeysOf(r.set, r.anchors) {
		c := m.caseOf(k)
		weight, counted := mine[k]
		before, isChanged := slices.Clone(c.past), counted
		restore := func(s Stance, counted bool) {
			for _, x := range before {
				if x.stance != s || x.refuter == nil || x.by == r.by || x.undone || !m.isOpen(before, x, r, counted) {
					continue
				}
				if s == Spam && contradiction(before, x, r.by) >= m.quorum {
					continue
				}
				isSaid := c.of(x.by) != nil || slices.ContainsFunc(before, func(y *modelReport) bool { return y.by == x.by && y.number > x.number })
				if isSaid && !x.charged {
					continue
				}
				if !slices.Contains(acquitted, x) {
					acquitted = append(acquitted, x)
				}
				if !isSaid {
					isChanged = true
					m.again(c, x)
				}
			}
			if s == Ham && c.revoked.IsZero() && c.sum(Ham) >= m.quorum {
				c.revoked = m.now.Truncate(time.Second)
			}
		}
		restore(Ham, counted && r.stance == Spam && c.sum(Spam) < m.quorum && c.sum(Spam)+weight >= m.quorum)
		isOpen := !counted || !c.listed && !c.revoked.IsZero() && c.sum(Ham)+weight >= m.quorum
		if r.stance == Spam || c.sum(Ham) >= m.quorum || !isOpen {
			continue
		}
		if counted {
			c.revoked = time.Time{}
		}
		restore(Spam, counted)
		c.listed = c.listed || isChanged && c.sum(Spam) >= m.quorum
	}
	return acquitted
}

// contradiction returns the weight of those who said the opposite of x later and have not taken that back, without one.
func contradiction(past []*modelReport, x *modelReport, but string) (sum Weight) {
	seen := map[string]bool{but: true}
	for _, y := range past {
		if y.number > x.number && y.stance != x.stance && !y.undone && !y.replaced && !y.idle && !seen[y.by] {
			seen[y.by] = true
			sum += y.weight
		}
	}
	return sum
}

// again lets a refuted word count again.
func (m *model) again(c *modelCase, x *modelReport) {
	c.past = slices.DeleteFunc(c.past, func(y *modelReport) bool { return y == x })
	c.add(x)
	w := c.words[len(c.words)-1]
	w.acquitted = true
	if o := m.reporters[x.by]; o != nil && o.override != nil {
		w.weight = min(w.weight, *o.override)
	}
}

// reopen takes the charges of restored words back, and their refutation unless a signature of them does not count.
func (m *model) reopen(acquitted []*modelReport, now time.Time) {
	for _, x := range acquitted {
		if x.charged {
			m.discharge(x, now)
		}
		if !slices.ContainsFunc(x.set.Signatures, func(g signature.Signature) bool {
			return slices.Contains(m.caseOf(record.SignatureKey(g)).past, x)
		}) {
			x.refuter = nil
		}
	}
}

// isOpen reports whether a refuted word may count again when r is undone.
func (m *model) isOpen(past []*modelReport, x, r *modelReport, counted bool) bool {
	switch by := x.refuter; {
	case !by.forgotten && by.by == r.by:
		return !by.at.Before(m.since)
	case by.forgotten || !counted:
		return counted
	}
	return !slices.ContainsFunc(past, func(y *modelReport) bool {
		return y.by == x.refuter.by && y.stance == x.refuter.stance && y.refuter != nil && !y.undone
	})
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
