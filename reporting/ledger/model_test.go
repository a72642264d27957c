package ledger

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// model is a ledger without a file: lists that are gone through from the front. It
// says what the package promises, in another way than the package does it.
type model struct {
	trust     trust.Model
	quorum    Weight
	cases     map[Key]*modelCase
	reporters map[string]*modelReporter
	reports   []*modelReport // the oldest first
	due       []modelDecision
}

// modelCase is what is said of a key.
type modelCase struct {
	words   []*modelWord // the latest of each reporter
	past    []*modelReport
	listed  bool
	revoked time.Time
	lost    time.Time
}

// modelWord is one of them. Of a crowd only the first can still be confirmed.
type modelWord struct {
	*modelReport
	first bool
}

type modelReport struct {
	by      string
	stance  Stance
	at      time.Time
	weight  Weight
	credit  Weight
	early   bool
	refuted bool
	idle    bool // a revocation of what nobody had reported
	set     signature.Set
	anchors []Anchors

	forgotten bool
}

type modelReporter struct {
	reputation trust.Reputation
	override   *Weight
	last       time.Time
}

// modelDecision is an action and the keys of the signatures it is about, and of the
// sketches the kinds.
type modelDecision struct {
	action   Action
	keys     []Key
	sketches []signature.Kind

	report *modelReport // that it is about, where it is kept as due
}

func newModel(m trust.Model) *model {
	return &model{
		trust: m, quorum: Weight(math.Ceil(m.Quorum * 1000)),
		cases: map[Key]*modelCase{}, reporters: map[string]*modelReporter{},
	}
}

func (m *model) caseOf(k Key) *modelCase {
	if m.cases[k] == nil {
		m.cases[k] = &modelCase{}
	}
	return m.cases[k]
}

func (c *modelCase) sum(s Stance) (sum Weight) {
	for _, w := range c.words {
		if w.stance == s {
			sum += w.weight
		}
	}
	return sum
}

func (c *modelCase) of(by string) *modelWord {
	for _, w := range c.words {
		if w.by == by {
			return w
		}
	}
	return nil
}

func (c *modelCase) add(r *modelReport) {
	first := 0
	for _, w := range c.words {
		if w.first {
			first++
		}
	}
	c.words = append(c.words, &modelWord{r, first < maxInline})
}

func (c *modelCase) remove(w *modelWord) {
	c.words = slices.DeleteFunc(c.words, func(x *modelWord) bool { return x == w })
	if !slices.Contains(c.past, w.modelReport) {
		c.past = append(c.past, w.modelReport)
		c.past = c.past[max(0, len(c.past)-maxPast):]
	}
}

// parts are those of a message that have the quorum, by what the package's doc says: a
// signature by itself; the text's signatures where a sketch of the text has it; a sketch
// where its text or its body has it, or by itself, if any signature has it.
func (m *model) parts(set signature.Set, anchors []Anchors, s Stance) (d modelDecision) {
	has := func(k Key) bool { return m.caseOf(k).sum(s) >= m.quorum }
	var text, body, byText bool
	own := make([]bool, len(set.Sketches))
	for i, a := range anchors {
		n := 0
		for _, h := range a.Hashes {
			if has(anchorKey(set.Sketches[i].Kind, h)) {
				n++
			}
		}
		own[i] = a.Need > 0 && n >= a.Need
		byText = byText || own[i] && set.Sketches[i].Kind == signature.KindSketch
	}
	for _, g := range set.Signatures {
		isText := g.Kind == signature.KindBody || g.Kind == signature.KindText2
		text = text || isText && (byText || has(signatureKey(g)))
		body = body || g.Kind == signature.KindBody && has(signatureKey(g))
		if has(signatureKey(g)) || byText && isText {
			d.keys = append(d.keys, signatureKey(g))
		}
	}
	for i, k := range set.Sketches {
		if len(d.keys) > 0 && (own[i] || body || (text || byText) && k.Kind == signature.KindSketch) {
			d.sketches = append(d.sketches, k.Kind)
		}
	}
	return d
}

// less are the parts that d has and other has not.
func (d modelDecision) less(other modelDecision) modelDecision {
	d.keys = slices.DeleteFunc(slices.Clone(d.keys), func(k Key) bool { return slices.Contains(other.keys, k) })
	d.sketches = slices.DeleteFunc(slices.Clone(d.sketches), func(k signature.Kind) bool { return slices.Contains(other.sketches, k) })
	return d
}

// plus are the parts that either has.
func (d modelDecision) plus(other modelDecision) modelDecision {
	d.keys = append(d.keys, other.less(d).keys...)
	d.sketches = append(d.sketches, other.less(d).sketches...)
	return d.sorted()
}

func (d modelDecision) sorted() modelDecision {
	slices.SortFunc(d.keys, func(a, b Key) int { return slices.Compare(a[:], b[:]) })
	slices.Sort(d.sketches)
	return d
}

// does names the action, where anything is left to do.
func (d modelDecision) does(s Stance) modelDecision {
	if len(d.keys) == 0 {
		return modelDecision{}
	}
	d.action = List
	if s == Ham {
		d.action = Revoke
	}
	return d.sorted()
}

func (m *model) weight(r *modelReporter, trap bool, now time.Time) Weight {
	switch {
	case r.override != nil:
		return *r.override
	case trap:
		return m.quorum
	}
	return newWeight(m.trust.Weight(r.reputation, now))
}

func (m *model) reporter(name string, now time.Time) *modelReporter {
	r := m.reporters[name]
	if r == nil {
		now = now.Truncate(time.Second)
		r = &modelReporter{reputation: trust.Reputation{At: now}, last: now}
		m.reporters[name] = r
	}
	return r
}

func (m *model) experience(name string, confirmed, refuted float64, now time.Time) {
	if r := m.reporters[name]; r != nil {
		r.reputation = m.trust.Add(r.reputation, confirmed, refuted, now.Truncate(time.Second))
	}
}

// modelAnswer is what the ledger says of an entry.
type modelAnswer struct {
	modelDecision
	weight, sum Weight
	revoked     time.Time
}

// answer says what is known of a message before its case is closed.
func (m *model) answer(e Entry, d modelDecision, weight Weight) modelAnswer {
	a := modelAnswer{modelDecision: d.does(e.Stance), weight: weight}
	for _, g := range e.Set.Signatures {
		c := m.caseOf(signatureKey(g))
		a.sum = max(a.sum, c.sum(e.Stance))
		if c.revoked.After(a.revoked) {
			a.revoked = c.revoked
		}
	}
	return a
}

// enter takes a word and says what follows.
func (m *model) enter(e Entry) modelAnswer {
	keys := keysOf(e.Set, e.Anchors)
	var changed, fresh []Key
	idle := e.Stance == Ham && !e.Listed
	for _, k := range keys {
		idle = idle && m.caseOf(k).sum(Spam) == 0
	}
	for _, k := range keys {
		w := m.caseOf(k).of(e.Reporter)
		known := w != nil && w.stance == e.Stance && (!w.idle || idle)
		raised := known && m.reporters[e.Reporter].override != nil && w.weight < *m.reporters[e.Reporter].override
		if known && !w.at.Before(e.Period) && !raised {
			continue
		}
		changed = append(changed, k)
		if !known {
			fresh = append(fresh, k)
		}
	}
	if len(changed) == 0 {
		d := m.parts(e.Set, e.Anchors, e.Stance)
		if idle {
			d = modelDecision{}
		}
		return m.answer(e, d, m.weight(m.reporters[e.Reporter], e.Trap, e.At))
	}
	who := m.reporter(e.Reporter, e.At)
	spam := m.parts(e.Set, e.Anchors, Spam)
	r := &modelReport{
		by: e.Reporter, stance: e.Stance, at: e.At.Truncate(time.Second), weight: m.weight(who, e.Trap, e.At),
		early: !idle && len(m.parts(e.Set, e.Anchors, e.Stance).keys) == 0, idle: idle, set: e.Set, anchors: e.Anchors,
	}
	if !idle {
		m.credit(r, fresh, e.At)
	}
	for _, k := range changed {
		if w := m.caseOf(k).of(r.by); w != nil {
			m.caseOf(k).remove(w)
		}
		m.caseOf(k).add(r)
	}
	d := m.parts(e.Set, e.Anchors, e.Stance)
	if e.Stance == Ham {
		d = d.plus(spam.less(m.parts(e.Set, e.Anchors, Spam)))
	}
	if idle {
		d = modelDecision{}
	}
	a := m.answer(e, d, r.weight)
	for _, k := range keys {
		m.close(k, e, idle)
	}
	m.reports = append(m.reports, r)
	who.last = r.at
	m.keep(a.modelDecision, r)
	return a
}

// keep notes a decision until it is carried out.
func (m *model) keep(d modelDecision, r *modelReport) {
	if d.action != None {
		d.report = r
		m.due = append(m.due, d)
	}
}

// credit confirms those who said the same before, each report for at most one.
func (m *model) credit(r *modelReport, fresh []Key, now time.Time) {
	most, others := newWeight(trust.MaxCredit), Weight(0)
	var seen []*modelReport
	for _, k := range fresh {
		others = max(others, m.caseOf(k).sum(r.stance))
		for _, w := range m.caseOf(k).words {
			if w.by == r.by || w.stance != r.stance || !w.early || !w.first || slices.Contains(seen, w.modelReport) {
				continue
			}
			seen = append(seen, w.modelReport)
			if add := min(r.weight, most-w.credit); add > 0 {
				w.credit += add
				m.experience(w.by, add.Float(), 0, now)
			}
		}
	}
	if r.early {
		r.credit = min(others, most)
		m.experience(r.by, r.credit.Float(), 0, now)
	}
}

// close refutes those who said the opposite of what has the quorum now.
func (m *model) close(k Key, e Entry, idle bool) {
	c := m.caseOf(k)
	switch has := c.sum(e.Stance) >= m.quorum; {
	case e.Stance == Spam && has && c.revoked.Before(e.Period) && c.lost.Before(e.Period):
		c.listed = true
		m.refute(c, Ham, e.At)
	case e.Stance == Ham && has && !idle:
		if c.listed || c.sum(Spam) > 0 || c.revoked.IsZero() {
			c.revoked = e.At.Truncate(time.Second)
		}
		c.listed = false
		m.refute(c, Spam, e.At)
	case e.Stance == Ham && c.sum(Spam) < m.quorum && c.listed:
		c.listed, c.lost = false, e.At.Truncate(time.Second)
	}
	m.tidy(k)
}

func (m *model) refute(c *modelCase, s Stance, now time.Time) {
	for _, w := range slices.Clone(c.words) {
		if w.stance != s || w.idle {
			continue
		}
		c.remove(w)
		if !w.refuted {
			w.refuted = true
			m.experience(w.by, -w.credit.Float(), trust.Refutation, now)
		}
	}
}

// tidy forgets a case of which nothing is left.
func (m *model) tidy(k Key) {
	if c := m.cases[k]; c != nil && len(c.words)+len(c.past) == 0 {
		delete(m.cases, k)
	}
}

// undo takes back what a reporter said since then, all of it, the newest first.
func (m *model) undo(name string, since, now time.Time) {
	for _, r := range slices.Backward(m.reports) {
		if r.by != name || r.at.Before(since) {
			continue
		}
		before := m.parts(r.set, r.anchors, r.stance)
		for _, k := range keysOf(r.set, r.anchors) {
			c := m.caseOf(k)
			if w := c.of(name); w != nil && w.modelReport == r {
				c.remove(w)
				if c.listed && c.sum(Spam) < m.quorum {
					c.listed, c.lost = false, now.Truncate(time.Second)
				}
			}
			m.tidy(k)
		}
		if r.stance == Spam {
			m.keep(before.less(m.parts(r.set, r.anchors, r.stance)).does(Ham), r)
		}
	}
}

// expire forgets what is older than memory.
func (m *model) expire(now time.Time, memory time.Duration) {
	for len(m.reports) > 0 && m.reports[0].at.Before(now.Add(-memory)) {
		r := m.reports[0]
		m.reports, r.forgotten = m.reports[1:], true
		for _, k := range keysOf(r.set, r.anchors) {
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

// decided is a decision of the ledger in the model's words.
func decided(d Decision) modelDecision {
	m := modelDecision{action: d.Action}
	for _, s := range d.Set.Signatures {
		m.keys = append(m.keys, signatureKey(s))
	}
	for _, s := range d.Set.Sketches {
		m.sketches = append(m.sketches, s.Kind)
	}
	return m.sorted()
}

func (d modelDecision) equal(other modelDecision) bool {
	return d.action == other.action && slices.Equal(d.keys, other.keys) && slices.Equal(d.sketches, other.sketches)
}

// byName has the reporters in order.
func (m *model) byName() []string {
	var names []string
	for name := range m.reporters {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}
