package reputation

import (
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/trust"
)

// tally decides like reporting/ledger, in memory and without sketches, because a ledger
// takes minutes for each world of an experiment. A trial compares it with the ledger,
// word by word.
type tally struct {
	rules     rules
	model     trust.Model
	quorum    weight
	cases     map[key]*dossier
	reporters map[string]*trust.Reputation
	accusers  map[string]string // who was behind a reporter's last charge
	numbers   map[string]int    // of reporters, in the order in which they came
	said      int               // statements
}

// rules are alternatives to the product's rules, which it had at first. The zero value
// is the product's.
type rules struct {
	slow    bool // the weight falls with E below 3/8, to a floor of 0.05
	keeps   bool // a refuted reporter keeps the credit of the report, and it counts once
	advance bool // revocations of unreported messages have effect

	// factor is the number of quorums that list again against a revocation of the same
	// period; 0: the product's, which is 2, or 1 where one reporter is a quorum.
	factor float64
}

// weight is in thousandths, as in the ledger.
type weight int64

func newWeight(w float64) weight { return weight(math.Floor(w*1000 + 1e-6)) }

func (w weight) float() float64 { return float64(w) / 1000 }

// stance is 0 for a report and 1 for a revocation.
type stance int

func stanceOf(revoke bool) stance {
	if revoke {
		return 1
	}
	return 0
}

// dossier has the latest opinion of each reporter about a key.
type dossier struct {
	words   map[string]*opinion
	first   []*opinion // those that can be confirmed: a ledger considers no more
	sums    [2]weight  // by stance
	listed  bool
	revoked time.Time // by a quorum, the last time
	lost    time.Time // when it lost its quorum
	past    []*statement
}

// opinion is one reporter's opinion about a key.
type opinion struct {
	*statement
	weight weight
	at     time.Time
}

// statement is one report or revocation, of all its keys.
type statement struct {
	number  int
	by      string
	at      time.Time
	keys    []key
	weight  weight
	stance  stance
	idle    bool       // a revocation of an unreported message
	early   bool       // made before its message was listed, or revoked
	credit  weight     // earned for its reporter
	refuter *statement // the first that refuted it; nil: none
	charged bool       // its reporter was
}

// mostFirst is the ledger's maxInline and maxPast, and mostPinned its pastRevocations.
const (
	mostFirst  = 16
	mostPinned = 12
)

func newTally(m trust.Model, r rules) *tally {
	return &tally{
		rules: r, model: m, quorum: weight(math.Ceil(m.Quorum*1000 - 1e-6)),
		cases: map[key]*dossier{}, reporters: map[string]*trust.Reputation{}, accusers: map[string]string{}, numbers: map[string]int{},
	}
}

// enter records a word and returns the decision; it is a book.
func (t *tally) enter(w word) (decision, error) {
	says := stanceOf(w.revoke)
	idle := w.revoke && !w.listed && !t.rules.advance
	for _, k := range w.keys {
		idle = idle && t.dossier(k).sums[0] == 0 && !t.dossier(k).isRevoked()
	}
	changed, said, fresh := t.look(w, says, idle)
	if len(changed) == 0 && idle {
		return decision{}, nil
	}
	if len(changed) == 0 {
		return t.decision(w, says, nil, t.weigh(*t.reporters[w.by], w.at), t.reached(w, says)), nil
	}
	who := t.reporters[w.by]
	if who == nil {
		who = &trust.Reputation{At: w.at.Truncate(time.Second)}
		t.reporters[w.by], t.numbers[w.by] = who, len(t.numbers)
	}
	mine := t.weigh(*who, w.at)
	t.said++
	s := &statement{number: t.said, by: w.by, at: w.at.Truncate(time.Second), keys: w.keys, weight: mine, stance: says, idle: idle}
	s.early = !slices.Contains(t.reached(w, says), true) && !idle
	if !idle {
		t.credit(s, fresh, mine, w.at)
	}
	before, had := t.reached(w, 0), t.reached(w, says)
	var reversed []*statement
	for _, c := range changed {
		if old := c.words[w.by]; old != nil && old.stance != says {
			reversed = append(reversed, old.statement)
		}
		c.put(&opinion{statement: s, weight: mine, at: s.at})
	}
	t.pardon(s, reversed)
	for i, on := range t.reached(w, 0) {
		before[i] = before[i] && !on // lost with the reporter's own report
	}
	d := t.decision(w, says, before, mine, had)
	if idle {
		d = decision{}
	}
	var decided, closed []*dossier
	for _, k := range w.keys {
		c := t.cases[k]
		isDecided, isNew := t.close(c, says, idle || mine == 0, w.at)
		if isDecided {
			decided = append(decided, c)
		}
		if isDecided && (isNew || slices.Contains(said, c)) {
			closed = append(closed, c)
		}
	}
	t.refute(decided, closed, s)
	return d, nil
}

func (t *tally) dossier(k key) *dossier {
	if t.cases[k] == nil {
		t.cases[k] = &dossier{words: map[string]*opinion{}}
	}
	return t.cases[k]
}

// look returns the dossiers that the word changes, those of them where it does not reverse an earlier one, and where it is
// not a renewal either. A word that was idle counts as new once it is not.
func (t *tally) look(w word, says stance, idle bool) (changed, said, fresh []*dossier) {
	for _, k := range w.keys {
		c := t.dossier(k)
		o := c.words[w.by]
		same := o != nil && o.stance == says
		known := same && (!o.idle || idle)
		if known && !o.at.Before(w.at.Truncate(period)) {
			continue
		}
		changed = append(changed, c)
		if o == nil || same {
			said = append(said, c)
		}
		if o == nil || same && !known { // one who changes sides confirms nobody
			fresh = append(fresh, c)
		}
	}
	return changed, said, fresh
}

// weigh returns the weight of a reporter.
func (t *tally) weigh(r trust.Reputation, at time.Time) weight {
	const doubt, floor = 3. / 8, 0.05
	if e := trust.Expectation(t.model.At(r, at)); t.rules.slow && e < 0.5 {
		return newWeight(t.model.Newcomer * max(min(e/doubt, 1), floor))
	}
	return newWeight(t.model.Weight(r, at))
}

func (t *tally) reached(w word, says stance) []bool {
	var r []bool
	for _, k := range w.keys {
		r = append(r, t.decides(t.cases[k], says, w.at))
	}
	return r
}

// decides reports whether the opinions of a stance decide about a key.
func (t *tally) decides(c *dossier, says stance, at time.Time) bool {
	isContested := c.isRevoked() && !c.revoked.Before(at.Truncate(period)) && c.sums[1] >= t.quorum
	if says == 0 && isContested {
		return c.sums[0] >= t.again()
	}
	return c.sums[says] >= t.quorum
}

// again returns the weight that lists again what was revoked in the same period.
func (t *tally) again() weight {
	switch {
	case t.rules.factor > 0:
		return newWeight(t.rules.factor * t.quorum.float())
	case t.quorum > 1000:
		return 2 * t.quorum
	}
	return t.quorum
}

// isRevoked reports whether the key was revoked by a quorum, and not listed since.
func (c *dossier) isRevoked() bool { return !c.listed && !c.revoked.IsZero() }

// decision returns the keys that have the quorum, and those that lost it. A word with less weight than a newcomer's
// decides only what had no quorum before.
func (t *tally) decision(w word, says stance, lost []bool, mine weight, had []bool) (d decision) {
	isLess := mine == 0 || mine < min(newWeight(t.model.Newcomer), t.quorum)
	for i, on := range t.reached(w, says) {
		on = on && !(isLess && had[i])
		switch {
		case says == 0 && on:
			d.list = append(d.list, w.keys[i])
		case says == 1 && (on || lost != nil && lost[i]):
			d.revoke = append(d.revoke, w.keys[i])
		}
	}
	return d
}

func (t *tally) experience(by string, confirmed, refuted float64, at time.Time) {
	r := t.reporters[by]
	*r = t.model.Add(*r, confirmed, refuted, at.Truncate(time.Second))
}

// credit confirms reporters with the same earlier opinion, each by at most MaxCredit.
func (t *tally) credit(s *statement, fresh []*dossier, mine weight, at time.Time) {
	most := newWeight(trust.MaxCredit)
	others := weight(0)
	seen := map[*statement]bool{}
	for _, c := range fresh {
		others = max(others, c.sums[s.stance])
		for _, o := range c.first {
			if !o.early || o.stance != s.stance || o.by == s.by || seen[o.statement] {
				continue
			}
			seen[o.statement] = true
			if o.charged { // it earns nothing any more
				o.early = false
				continue
			}
			if add := min(mine, most-o.credit); add > 0 {
				t.experience(o.by, add.float(), 0, at)
				o.credit += add
			}
		}
	}
	if s.early {
		s.credit = min(others, most)
		t.experience(s.by, s.credit.float(), 0, at)
	}
}

// close notes what is listed or revoked now: whether the word decides the key, which one without weight does not, and
// whether that is new.
func (t *tally) close(c *dossier, says stance, idle bool, at time.Time) (isDecided, isNew bool) {
	reached := t.decides(c, says, at) && !idle
	switch {
	case says == 0 && reached:
		isNew, c.listed = !c.listed, true
	case says == 1 && reached:
		isNew = c.listed || c.revoked.IsZero()
		if isNew || c.sums[0] > 0 {
			c.revoked = at.Truncate(time.Second)
		}
		c.listed = false
	case says == 1 && c.sums[0] < t.quorum && c.listed:
		c.listed, c.lost = false, at.Truncate(time.Second)
	}
	return reached, isNew
}

// put replaces the reporter's earlier opinion.
func (c *dossier) put(o *opinion) {
	if old := c.words[o.by]; old != nil {
		c.remove(old, o.at)
	}
	c.words[o.by] = o
	if !o.idle {
		c.sums[o.stance] += o.weight
	}
	if len(c.first) < mostFirst {
		c.first = append(c.first, o)
	}
}

// remove removes an opinion, and remembers its statement like a tally of the ledger.
func (c *dossier) remove(o *opinion, now time.Time) {
	delete(c.words, o.by)
	if !o.idle {
		c.sums[o.stance] -= o.weight
	}
	c.first = slices.DeleteFunc(c.first, func(x *opinion) bool { return x == o })
	if slices.Contains(c.past, o.statement) {
		return
	}
	if c.past = append(c.past, o.statement); len(c.past) > mostFirst {
		isPinned := func(s *statement) bool {
			return s.stance == 1 && !s.idle && s.weight > 0 && !s.at.Before(now.Truncate(period))
		}
		i := max(0, slices.IndexFunc(c.past[:mostPinned+1], func(s *statement) bool { return !isPinned(s) }))
		c.past = slices.Delete(c.past, i, i+1)
	}
}
