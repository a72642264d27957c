package reputation

import (
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/trust"
)

// tally decides as reporting/ledger does, in memory and without sketches: for the
// worlds of an experiment, of which a ledger takes minutes each. A trial holds it
// against the ledger, word by word.
type tally struct {
	rules     rules
	model     trust.Model
	quorum    weight
	cases     map[key]*dossier
	reporters map[string]*trust.Reputation
}

// rules are what the product could do otherwise; the zero value is what it does.
type rules struct {
	// line has the weight fall from the newcomer's, at E = 1/3, to nothing, at 1/4.
	line bool
	// forfeit takes from who is refuted what the report had earned.
	forfeit bool
	// refutation is what one counts, in confirmations; 0: one.
	refutation float64
	// needless revocations, of what nobody has reported, are kept and have no effect.
	needless bool
}

// weight is in thousandths, as the ledger has it.
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

// dossier is what is said of a key: the latest word of each reporter.
type dossier struct {
	words   map[string]*opinion
	first   []*opinion // of these, those that can be confirmed: a ledger looks at no more
	sums    [2]weight  // by stance
	revoked time.Time
}

// opinion is one reporter's word of a key.
type opinion struct {
	*statement
	weight weight
	at     time.Time
}

// statement is one report or revocation, of all its keys.
type statement struct {
	by      string
	stance  stance
	early   bool   // made before its message was listed, or revoked
	credit  weight // that it has earned its reporter
	refuted bool
}

// mostFirst is the ledger's maxInline.
const mostFirst = 16

func newTally(m trust.Model, r rules) *tally {
	return &tally{
		rules: r, model: m, quorum: weight(math.Ceil(m.Quorum*1000 - 1e-6)),
		cases: map[key]*dossier{}, reporters: map[string]*trust.Reputation{},
	}
}

// enter takes a word; it is a book.
func (t *tally) enter(w word) (decision, error) {
	says := stanceOf(w.revoke)
	changed, fresh := t.look(w, says)
	if len(changed) == 0 {
		return t.decision(w.keys, says, nil), nil
	}
	who := t.reporters[w.by]
	if who == nil {
		who = &trust.Reputation{At: w.at.Truncate(time.Second)}
		t.reporters[w.by] = who
	}
	mine := t.weigh(*who, w.at)
	s := &statement{by: w.by, stance: says, early: !slices.Contains(t.reached(w.keys, says), true)}
	needless := t.rules.needless && w.revoke && !t.reported(w.keys)
	if !needless {
		t.credit(s, fresh, mine, w.at)
	}
	before := t.reached(w.keys, 0)
	for _, c := range changed {
		c.put(&opinion{statement: s, weight: mine, at: w.at.Truncate(time.Second)})
	}
	if needless {
		return decision{}, nil
	}
	for i, on := range t.reached(w.keys, 0) {
		before[i] = before[i] && !on // lost with the reporter's own report
	}
	d := t.decision(w.keys, says, before)
	for _, k := range w.keys {
		t.close(t.cases[k], says, w.at)
	}
	return d, nil
}

// look finds where the word is new, and of these where it is not a renewal.
func (t *tally) look(w word, says stance) (changed, fresh []*dossier) {
	for _, k := range w.keys {
		c := t.cases[k]
		if c == nil {
			c = &dossier{words: map[string]*opinion{}}
			t.cases[k] = c
		}
		o := c.words[w.by]
		same := o != nil && o.stance == says
		if same && !o.at.Before(w.at.Truncate(period)) {
			continue
		}
		changed = append(changed, c)
		if !same {
			fresh = append(fresh, c)
		}
	}
	return changed, fresh
}

func (t *tally) weigh(r trust.Reputation, at time.Time) weight {
	if t.rules.line {
		if e := trust.Expectation(t.model.At(r, at)); e < 0.5 {
			return newWeight(t.model.Newcomer * min(1, max(0, (e-1./4)/(1./3-1./4))))
		}
	}
	return newWeight(t.model.Weight(r, at))
}

func (t *tally) reached(keys []key, says stance) []bool {
	var r []bool
	for _, k := range keys {
		r = append(r, t.cases[k].sums[says] >= t.quorum)
	}
	return r
}

func (t *tally) reported(keys []key) bool {
	return slices.ContainsFunc(keys, func(k key) bool { return t.cases[k].sums[0] > 0 })
}

// decision is about the keys that have the quorum, and those that lost it.
func (t *tally) decision(keys []key, says stance, lost []bool) (d decision) {
	for i, on := range t.reached(keys, says) {
		switch {
		case says == 0 && on:
			d.list = append(d.list, keys[i])
		case says == 1 && (on || lost != nil && lost[i]):
			d.revoke = append(d.revoke, keys[i])
		}
	}
	return d
}

func (t *tally) experience(by string, confirmed, refuted float64, at time.Time) {
	r := t.reporters[by]
	*r = t.model.Add(*r, confirmed, refuted, at.Truncate(time.Second))
	r.Confirmed = max(r.Confirmed, 0)
}

// credit confirms those who said the same before, each for at most MaxCredit.
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

// close refutes those who said the opposite of what has the quorum now.
func (t *tally) close(c *dossier, says stance, at time.Time) {
	if c.sums[says] < t.quorum {
		return
	}
	if says == 1 {
		if c.revoked.IsZero() || c.sums[0] > 0 {
			c.revoked = at.Truncate(time.Second)
		}
	} else if !c.revoked.Before(at.Truncate(period)) {
		return // in this period the revocation wins
	}
	for _, o := range c.words {
		if o.stance == says {
			continue
		}
		c.remove(o)
		if o.refuted {
			continue
		}
		o.refuted = true
		lost := 0.0
		if t.rules.forfeit {
			lost = o.credit.float()
		}
		t.experience(o.by, -lost, max(t.rules.refutation, trust.MaxCredit), at)
	}
}

// put replaces what the reporter said before.
func (c *dossier) put(o *opinion) {
	if old := c.words[o.by]; old != nil {
		c.remove(old)
	}
	c.words[o.by] = o
	c.sums[o.stance] += o.weight
	if len(c.first) < mostFirst {
		c.first = append(c.first, o)
	}
}

func (c *dossier) remove(o *opinion) {
	delete(c.words, o.by)
	c.sums[o.stance] -= o.weight
	c.first = slices.DeleteFunc(c.first, func(x *opinion) bool { return x == o })
}
