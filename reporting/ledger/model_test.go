package ledger

import (
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// model is a second implementation of the ledger, in memory and with plain lists, for
// comparison.
type model struct {
	trust     trust.Model
	quorum    Weight
	cases     map[record.Key]*modelCase
	reporters map[string]*modelReporter
	period    time.Time      // the current one
	pins      *time.Time     // the same while an entry is made
	reports   []*modelReport // the oldest first
	people    int            // reporters that ever were
	words     int            // of all
	now       time.Time      // of an undo
	since     time.Time      // of the words that it withdraws
	due       []modelDecision
}

// modelCase contains the reports and revocations of one key.
type modelCase struct {
	words   []*modelWord // the latest of each reporter
	past    []*modelReport
	listed  bool
	revoked time.Time
	lost    time.Time
	pins    *time.Time // the model's
	leaving bool       // a word being withdrawn still has its place among the first ones
}

// modelWord is a report or a revocation of a key. If a key has more than record.MaxInline of
// them, only the first ones can still be confirmed.
type modelWord struct {
	*modelReport
	weight    Weight // less than the report's if its reporter was ignored when it was restored
	first     bool
	acquitted bool // its refuter has been undone
}

type modelReport struct {
	number   int
	by       string
	stance   Stance
	at       time.Time
	weight   Weight
	credit   Weight
	early    bool
	charged  bool         // its reporter was, because it is refuted
	refuter  *modelReport // nil: it is not refuted
	undone   bool         // after it was refuted
	foreign  bool         // a revocation of a message that only other sites list
	idle     bool         // a revocation of a message that nobody had reported
	trap     bool
	replaced bool // of one of its signatures the reporter has said the opposite since
	set      signature.Set
	anchors  []Anchors

	forgotten bool
}

type modelReporter struct {
	reputation trust.Reputation
	override   *Weight
	last       time.Time
	accuser    *modelReporter // behind the last charge
	number     int            // in the order in which they came
}

// modelDecision is an action, the keys of the signatures concerned, and the indices of the
// sketches in their message, which may have two of one kind.
type modelDecision struct {
	action   Action
	keys     []record.Key
	sketches []int

	near bool // the sketch of the text has the quorum

	report *modelReport // the report that caused it, if it is kept as due
}

func newModel(m trust.Model) *model {
	return &model{
		trust: m, quorum: Weight(math.Ceil(m.Quorum * 1000)),
		cases: map[record.Key]*modelCase{}, reporters: map[string]*modelReporter{}, pins: new(time.Time),
	}
}

func (m *model) caseOf(k record.Key) *modelCase {
	if m.cases[k] == nil {
		m.cases[k] = &modelCase{pins: m.pins}
	}
	return m.cases[k]
}

func (c *modelCase) sum(s Stance) (sum Weight) {
	for _, w := range c.words {
		if w.stance == s && !w.idle {
			sum += w.weight
		}
	}
	return sum
}

// need returns the weight that lists a key: the quorum, or twice the quorum against a revocation
// of this period that still has the quorum. One quorum suffices if it is the weight of one
// reporter.
func (m *model) need(c *modelCase) Weight {
	if !c.listed && !c.revoked.IsZero() && !c.revoked.Before(m.period) && c.sum(Ham) >= m.quorum && m.quorum > 1000 {
		return 2 * m.quorum
	}
	return m.quorum
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
	if c.leaving {
		first++
	}
	for _, w := range c.words {
		if w.first {
			first++
		}
	}
	c.words = append(c.words, &modelWord{modelReport: r, weight: r.weight, first: first < record.MaxInline})
}

func (c *modelCase) remove(w *modelWord) {
	c.words = slices.DeleteFunc(c.words, func(x *modelWord) bool { return x == w })
	c.remember(w.modelReport)
}

func (c *modelCase) remember(r *modelReport) {
	if slices.Contains(c.past, r) {
		return
	}
	c.past = append(c.past, r)
	if len(c.past) <= 16 {
		return
	}
	oldest := 0 // the first of the oldest 13 that is no revocation of the period with a weight
	for i, x := range slices.Backward(c.past[:13]) {
		if x.stance == Spam || x.idle || x.weight == 0 || x.at.Before(*c.pins) || c.pins.IsZero() {
			oldest = i
		}
	}
	c.past = slices.Delete(c.past, oldest, oldest+1)
}

// parts returns the parts of a message that have the quorum, by the rules in the package
// comment: a signature by itself, a sketch by its own anchors, and the sketch of an image only
// together with others.
func (m *model) parts(set signature.Set, anchors []Anchors, s Stance) (d modelDecision) {
	has := func(k record.Key) bool {
		c := m.caseOf(k)
		return c.sum(s) >= m.quorum && (s == Ham || c.sum(s) >= m.need(c))
	}
	for _, g := range set.Signatures {
		if has(record.SignatureKey(g)) {
			d.keys = append(d.keys, record.SignatureKey(g))
		}
	}
	for i, a := range anchors {
		if kind := set.Sketches[i].Kind; a.Need > 0 && count(a.Hashes, func(h uint64) bool { return has(record.AnchorKey(kind, h)) }) >= a.Need {
			d.sketches = append(d.sketches, i)
			d.near = d.near || kind == signature.KindSketch
		}
	}
	if len(d.keys) == 0 && !d.near {
		d.sketches = nil
	}
	return d
}

func count[T any](list []T, is func(T) bool) (n int) {
	for _, x := range list {
		if is(x) {
			n++
		}
	}
	return n
}

// decided is parts for an entry; one with less weight than a newcomer decides only what had no quorum before.
func (m *model) decided(e Entry, weight Weight, before modelDecision) modelDecision {
	d := m.parts(e.Set, e.Anchors, e.Stance)
	if weight == 0 || weight < min(record.NewWeight(m.trust.Newcomer), m.quorum) {
		return d.less(before)
	}
	return d
}

// lost returns the parts that d has and after has not: the text's signatures only if after lacks
// the text's sketch as well.
func (d modelDecision) lost(after modelDecision) modelDecision {
	l := d.less(after)
	if after.near {
		l.keys = slices.DeleteFunc(l.keys, func(k record.Key) bool {
			return k[0] == byte(signature.KindBody) || k[0] == byte(signature.KindText)
		})
	}
	return l
}

// alike reports whether a report or revocation concerns a message: it shares one of the given
// keys, or enough anchors.
func (m *model) alike(w *modelReport, set signature.Set, anchors []Anchors, keys []record.Key) bool {
	said := func(k record.Key) bool {
		x := m.caseOf(k).of(w.by)
		return x != nil && x.modelReport == w && slices.Contains(keys, k)
	}
	for _, g := range set.Signatures {
		if said(record.SignatureKey(g)) {
			return true
		}
	}
	for i, a := range anchors {
		if a.Need > 0 && count(a.Hashes, func(h uint64) bool { return said(record.AnchorKey(set.Sketches[i].Kind, h)) }) >= a.Need {
			return true
		}
	}
	return false
}

// less returns the parts that d has and other has not.
func (d modelDecision) less(other modelDecision) modelDecision {
	d.keys = slices.DeleteFunc(slices.Clone(d.keys), func(k record.Key) bool { return slices.Contains(other.keys, k) })
	d.sketches = slices.DeleteFunc(slices.Clone(d.sketches), func(i int) bool { return slices.Contains(other.sketches, i) })
	return d
}

// plus returns the parts that d or other has.
func (d modelDecision) plus(other modelDecision) modelDecision {
	more := other.less(d)
	d.keys, d.sketches = append(d.keys, more.keys...), append(d.sketches, more.sketches...)
	return d.sorted()
}

func (d modelDecision) sorted() modelDecision {
	slices.SortFunc(d.keys, func(a, b record.Key) int { return slices.Compare(a[:], b[:]) })
	slices.Sort(d.sketches)
	return d
}

// does sets the action, or None if no part is left.
func (d modelDecision) does(s Stance) modelDecision {
	if len(d.keys)+len(d.sketches) == 0 {
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
	return record.NewWeight(m.trust.Weight(r.reputation, now))
}

func (m *model) reporter(name string, now time.Time) *modelReporter {
	r := m.reporters[name]
	if r == nil {
		now = now.Truncate(time.Second)
		m.people++
		r = &modelReporter{reputation: trust.Reputation{At: now}, last: now, number: m.people}
		m.reporters[name] = r
	}
	return r
}

func (m *model) experience(name string, confirmed, refuted float64, now time.Time) {
	if r := m.reporters[name]; r != nil {
		r.reputation = m.trust.Add(r.reputation, confirmed, refuted, now.Truncate(time.Second))
	}
}

// modelAnswer is the expected result of an entry.
type modelAnswer struct {
	modelDecision
	weight, sum Weight
	revoked     time.Time
}

// answer returns the expected result for a message before its case is closed.
func (m *model) answer(e Entry, d modelDecision, weight Weight) modelAnswer {
	a := modelAnswer{modelDecision: d.does(e.Stance), weight: weight}
	for _, g := range e.Set.Signatures {
		c := m.caseOf(record.SignatureKey(g))
		a.sum = max(a.sum, c.sum(e.Stance))
		if c.revoked.After(a.revoked) {
			a.revoked = c.revoked
		}
	}
	return a
}

// enter applies a report or a revocation, and returns the expected result.
func (m *model) enter(e Entry) modelAnswer {
	keys := record.KeysOf(e.Set, e.Anchors)
	var changed, said, fresh []record.Key
	m.period, *m.pins = e.Period, e.Period
	defer func() { *m.pins = time.Time{} }()
	anybody := *m
	anybody.quorum = 1
	reported := anybody.parts(e.Set, e.Anchors, Spam)
	isRevoked := slices.ContainsFunc(e.Set.Signatures, func(g signature.Signature) bool {
		c := m.caseOf(record.SignatureKey(g))
		return !c.listed && !c.revoked.IsZero()
	})
	idle := e.Stance == Ham && !e.Listed && !isRevoked && len(reported.keys)+len(reported.sketches) == 0
	for _, k := range keys {
		w := m.caseOf(k).of(e.Reporter)
		known := w != nil && w.stance == e.Stance && (!w.idle || idle)
		raised := known && m.reporters[e.Reporter].override != nil && w.weight < *m.reporters[e.Reporter].override
		if known && !w.at.Before(e.Period) && !raised {
			continue
		}
		changed = append(changed, k)
		if w == nil || w.stance == e.Stance {
			said = append(said, k)
		}
		if w == nil || w.stance == e.Stance && !known {
			fresh = append(fresh, k)
		}
	}
	if len(changed) == 0 {
		weight := m.weight(m.reporters[e.Reporter], e.Trap, e.At)
		d := m.decided(e, weight, m.parts(e.Set, e.Anchors, e.Stance))
		if idle {
			d = modelDecision{}
		}
		return m.answer(e, d, weight)
	}
	who := m.reporter(e.Reporter, e.At)
	spam, before := m.parts(e.Set, e.Anchors, Spam), m.parts(e.Set, e.Anchors, e.Stance)
	m.words++
	r := &modelReport{
		number: m.words, by: e.Reporter, stance: e.Stance, at: e.At.Truncate(time.Second), weight: m.weight(who, e.Trap, e.At),
		foreign: e.Stance == Ham && e.Listed && !e.Voted && len(spam.keys)+len(spam.sketches) == 0,
		early:   !idle && m.parts(e.Set, e.Anchors, e.Stance).does(e.Stance).action == None, idle: idle, trap: e.Trap, set: e.Set, anchors: e.Anchors,
	}
	if !idle && !e.Trap {
		m.credit(r, fresh, e)
	}
	var reversed []*modelReport
	for _, k := range changed {
		if w := m.caseOf(k).of(r.by); w != nil {
			if w.stance != r.stance && isOf(e.Set, k) {
				reversed = append(reversed, w.modelReport)
			}
			w.replaced = w.replaced || w.stance != r.stance && slices.ContainsFunc(e.Set.Signatures, func(g signature.Signature) bool { return record.SignatureKey(g) == k })
			m.caseOf(k).remove(w)
		}
		m.caseOf(k).add(r)
	}
	m.pardon(r, reversed, e.At)
	d := m.decided(e, r.weight, before)
	if e.Stance == Ham {
		d = d.plus(spam.lost(m.parts(e.Set, e.Anchors, Spam)))
	}
	if idle {
		d = modelDecision{}
	}
	a, wasNear := m.answer(e, d, r.weight), e.Stance == Ham && m.listed(r).near
	m.close(keys, said, e, idle, r)
	m.reports, who.last = append(m.reports, r), r.at
	m.keep(a.modelDecision, r)
	m.revokeKept(r, wasNear)
	return a
}

// keep records a decision until it is carried out.
func (m *model) keep(d modelDecision, r *modelReport) {
	if d.action != None {
		d.report = r
		m.due = append(m.due, d)
	}
}

// credit confirms earlier reports with the same stance on this message, each by at most one
// later report.
func (m *model) credit(r *modelReport, fresh []record.Key, e Entry) {
	most, others := record.NewWeight(trust.MaxCredit), Weight(0)
	var before []*modelReport
	for _, k := range fresh {
		for _, w := range m.caseOf(k).words {
			if w.by != r.by && w.stance == r.stance && w.early && w.first && !w.acquitted && !slices.Contains(before, w.modelReport) {
				before = append(before, w.modelReport)
			}
		}
	}
	var first []record.Key
	for _, w := range before {
		first = first[:0]
		for _, k := range fresh {
			if x := m.caseOf(k).of(w.by); x != nil && x.modelReport == w && x.first && !x.acquitted {
				first = append(first, k)
			}
		}
		if !m.alike(w, e.Set, e.Anchors, first) {
			continue
		}
		if w.charged {
			for _, k := range fresh {
				if x := m.caseOf(k).of(w.by); x != nil && x.modelReport == w && x.first {
					x.acquitted = true
				}
			}
			continue
		}
		if add := min(r.weight, most-w.credit); add > 0 {
			w.credit += add
			m.experience(w.by, add.Float(), 0, e.At)
		}
	}
	sum := func(k record.Key) Weight {
		if !slices.Contains(fresh, k) {
			return 0
		}
		return m.caseOf(k).sum(r.stance)
	}
	for _, g := range e.Set.Signatures {
		others = max(others, sum(record.SignatureKey(g)))
	}
	for i, a := range e.Anchors {
		for _, h := range a.Hashes { // the greatest one that enough of them have
			least := sum(record.AnchorKey(e.Set.Sketches[i].Kind, h))
			if a.Need > 0 && count(a.Hashes, func(h uint64) bool { return sum(record.AnchorKey(e.Set.Sketches[i].Kind, h)) >= least }) >= a.Need {
				others = max(others, least)
			}
		}
	}
	if r.early {
		r.credit = min(others, most)
		m.experience(r.by, r.credit.Float(), 0, e.At)
	}
}

// decided converts a decision of the ledger for comparison with the model.
func decided(d Decision) modelDecision {
	m := modelDecision{action: d.Action, sketches: slices.Clone(d.Places)}
	for _, s := range d.Set.Signatures {
		m.keys = append(m.keys, record.SignatureKey(s))
	}
	return m.sorted()
}

func (d modelDecision) equal(other modelDecision) bool {
	return d.action == other.action && slices.Equal(d.keys, other.keys) && slices.Equal(d.sketches, other.sketches)
}
