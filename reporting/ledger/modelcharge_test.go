package ledger

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// close refutes the reports whose opposite has reached the quorum by what is new: it changes something, or the reporter
// says it for the first time in the period.
func (m *model) close(keys, said []record.Key, e Entry, idle bool, by *modelReport) {
	var decided, closed []record.Key
	for _, k := range keys {
		c, isNew := m.caseOf(k), slices.Contains(said, k)
		has := c.sum(e.Stance) >= m.quorum && by.weight > 0
		switch {
		case e.Stance == Spam && has && c.sum(Spam) >= m.need(c):
			isNew = isNew || !c.listed
			c.listed = true
		case e.Stance == Ham && has && !idle:
			isNew = isNew || c.listed || c.revoked.IsZero()
			if c.listed || c.sum(Spam) > 0 || c.revoked.IsZero() {
				c.revoked = e.At.Truncate(time.Second)
			}
			c.listed = false
		case e.Stance == Ham && c.sum(Spam) < m.quorum && c.listed:
			c.listed, c.lost = false, e.At.Truncate(time.Second)
			continue
		default:
			continue
		}
		if decided = append(decided, k); isNew {
			closed = append(closed, k)
		}
	}
	m.refute(decided, closed, e, by)
	for _, k := range keys {
		m.tidy(k)
	}
}

func (m *model) refute(decided, closed []record.Key, e Entry, by *modelReport) {
	a := m.against(by, decided)
	m.agree(a, closed, e.At)
	var wrong []*modelReport
	for _, k := range closed {
		for _, w := range m.caseOf(k).words {
			if w.stance != e.Stance && !w.idle && !slices.Contains(wrong, w.modelReport) && m.alike(w.modelReport, e.Set, e.Anchors, closed) {
				wrong = append(wrong, w.modelReport)
			}
		}
	}
	number := func(a, b *modelReport) int { return a.number - b.number }
	for _, k := range decided {
		words := slices.DeleteFunc(slices.Clone(m.caseOf(k).words), func(w *modelWord) bool { return !slices.Contains(wrong, w.modelReport) })
		slices.SortFunc(words, func(a, b *modelWord) int { // the last ones are remembered
			return cmp.Or(cmp.Compare(min(a.weight, 1), min(b.weight, 1)), number(a.modelReport, b.modelReport))
		})
		for _, w := range words {
			m.caseOf(k).remove(w)
		}
	}
	for _, r := range slices.SortedFunc(slices.Values(wrong), number) {
		if r.refuter == nil {
			r.refuter = by
		}
		m.charge(r, a, e.At)
	}
}

// modelAgainst is who stands by an entry's word, by key, and the keys that it closes.
type modelAgainst struct {
	by       *modelReport
	standing map[record.Key][]*modelWord
	decides  map[record.Key]bool
}

func (m *model) against(by *modelReport, closed []record.Key) modelAgainst {
	a := modelAgainst{by, map[record.Key][]*modelWord{}, map[record.Key]bool{}}
	for _, k := range closed {
		a.decides[k] = true
		for _, w := range m.caseOf(k).words {
			if !w.idle && w.stance == by.stance && w.weight > 0 {
				a.standing[k] = append(a.standing[k], w)
			}
		}
		slices.SortFunc(a.standing[k], func(x, y *modelWord) int { return m.reporters[x.by].number - m.reporters[y.by].number })
		a.standing[k] = a.standing[k][:min(len(a.standing[k]), 16)]
	}
	return a
}

// text returns the keys of the text of a report: of its signatures, and of its sketches with how many of each are
// needed; of a report without a text, those of its files.
func (r *modelReport) text() (keys []record.Key, sketches [][]record.Key, need []int) {
	for _, g := range r.set.Signatures {
		if g.Kind == signature.KindBody || g.Kind == signature.KindText {
			keys = append(keys, record.SignatureKey(g))
		}
	}
	for i, a := range r.anchors {
		if r.set.Sketches[i].Kind == signature.KindSketch {
			var of []record.Key
			for _, h := range a.Hashes {
				of = append(of, record.AnchorKey(signature.KindSketch, h))
			}
			sketches, need = append(sketches, of), append(need, a.Need)
		}
	}
	if len(keys)+len(sketches) == 0 {
		for _, g := range r.set.Signatures {
			keys = append(keys, record.SignatureKey(g))
		}
	}
	return keys, sketches, need
}

// hasText reports whether a signature of the text is so, or enough of a sketch.
func (r *modelReport) hasText(is func(record.Key) bool) bool {
	keys, sketches, need := r.text()
	for i, s := range sketches {
		if need[i] > 0 && count(s, is) >= need[i] {
			return true
		}
	}
	return slices.ContainsFunc(keys, is)
}

// charge charges the reporter of a refuted report, if its text is contradicted by anybody who was not behind the last
// charge, and who is no trap.
func (m *model) charge(r *modelReport, a modelAgainst, at time.Time) {
	who := m.reporters[r.by]
	if r.charged || who == nil || !r.hasText(func(k record.Key) bool { return a.decides[k] }) {
		return
	}
	accusers := []*modelReporter{}
	add := func(w *modelReport) {
		if !w.trap && w.by != r.by {
			accusers = append(accusers, m.reporters[w.by])
		}
	}
	add(a.by)
	keys, sketches, need := r.text()
	for _, k := range keys {
		for _, w := range a.standing[k] {
			add(w.modelReport)
		}
	}
	for i, s := range sketches {
		times := map[*modelReport]int{}
		for _, k := range s {
			for _, w := range a.standing[k] {
				if times[w.modelReport]++; times[w.modelReport] == need[i] {
					add(w.modelReport)
				}
			}
		}
	}
	for _, accuser := range accusers {
		if accuser != who.accuser {
			r.charged, who.accuser = true, accuser
			m.experience(r.by, -r.credit.Float(), trust.Refutation, at)
			return
		}
	}
}

// agree charges for what was refuted before, and not charged.
func (m *model) agree(a modelAgainst, closed []record.Key, at time.Time) {
	for _, k := range closed {
		for _, x := range m.caseOf(k).past {
			if x.refuter != nil && !x.undone && !x.charged && x.by != a.by.by && x.stance != a.by.stance {
				if m.charge(x, a, at); x.charged {
					x.refuter = a.by
				}
			}
		}
	}
}

// absolve takes a charge back, if no quorum contradicts the report, or only traps do, or only one does who was behind
// the last charge, or where the undone one was.
func (m *model) absolve(x *modelReport, name string, now time.Time) {
	if !m.isContradicted(x, m.quorum) {
		if x.charged {
			m.discharge(x, now)
		}
		return
	}
	standing := m.standing(x)
	if len(standing) == 0 {
		return
	}
	who, first := m.reporters[x.by], standing[0]
	standing = slices.DeleteFunc(standing, func(w *modelWord) bool { return w.trap })
	var only *modelReporter
	if len(standing) > 0 {
		first, only = standing[0], m.reporters[standing[0].by]
	}
	defer func() { x.refuter = first.modelReport }()
	isOther := slices.ContainsFunc(standing, func(w *modelWord) bool { return m.reporters[w.by] != only })
	if who == nil || isOther || only != nil && who.accuser != m.reporters[name] && who.accuser != only {
		return
	}
	if only != nil {
		who.accuser = only
	}
	if x.charged {
		m.discharge(x, now)
	}
}

// standing returns the words of others who contradict a report, of each key the first 16.
func (m *model) standing(x *modelReport) (standing []*modelWord) {
	keys, sketches, need := x.text()
	of := func(k record.Key) (list []*modelWord) {
		for _, w := range m.ordered(m.caseOf(k)) {
			if w.stance != x.stance && !w.idle && w.weight > 0 && w.by != x.by && len(list) < 16 {
				list = append(list, w)
			}
		}
		return list
	}
	for _, k := range keys {
		standing = append(standing, of(k)...)
	}
	for i, s := range sketches {
		times := map[*modelReport]int{}
		for _, k := range s {
			for _, w := range of(k) {
				if times[w.modelReport]++; times[w.modelReport] == need[i] {
					standing = append(standing, w)
				}
			}
		}
	}
	return standing
}

// ordered returns the words of a case as the ledger visits them: the first ones, then the others by reporter.
func (m *model) ordered(c *modelCase) []*modelWord {
	list := slices.Clone(c.words)
	slices.SortStableFunc(list, func(a, b *modelWord) int {
		switch {
		case a.first && b.first:
			return 0
		case a.first != b.first && a.first:
			return -1
		case a.first != b.first:
			return 1
		}
		return m.reporters[a.by].number - m.reporters[b.by].number
	})
	return list
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

// pardon takes charges back that words brought which their reporter has reversed, unless anybody else says the same
// of the text.
func (m *model) pardon(r *modelReport, reversed []*modelReport, at time.Time) {
	for _, k := range record.KeysOf(r.set, r.anchors) {
		for _, x := range m.caseOf(k).past {
			if !x.charged || x.undone || !slices.Contains(reversed, x.refuter) {
				continue
			}
			standing := slices.DeleteFunc(m.standing(x), func(w *modelWord) bool { return w.by == r.by || w.trap })
			if len(standing) == 0 {
				m.discharge(x, at)
				continue
			}
			x.refuter = standing[0].modelReport
		}
	}
}

// isContradicted reports whether others say the opposite of a report's text with a weight.
func (m *model) isContradicted(x *modelReport, weight Weight) bool {
	return x.hasText(func(k record.Key) bool {
		sum := m.caseOf(k).sum(1 - x.stance)
		if own := m.caseOf(k).of(x.by); own != nil && own.stance != x.stance && !own.idle {
			sum -= own.weight
		}
		return sum >= weight
	})
}
