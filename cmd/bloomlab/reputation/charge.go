package reputation

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/trust"
)

// against is a statement that closes keys, and who stands by it.
type against struct {
	by       *statement
	standing map[*dossier][]string // of the keys that it decides
}

// refute ends the opposite opinions of the keys that a statement has decided, of those reports that have one of a key that
// it has closed, and charges their reporters.
func (t *tally) refute(decided, closed []*dossier, by *statement) {
	a := against{by, map[*dossier][]string{}}
	for _, c := range decided {
		t.stand(a, c)
	}
	var wrong []*statement
	for _, c := range closed {
		for _, o := range c.words {
			if o.stance != by.stance && !o.idle && !slices.Contains(wrong, o.statement) {
				wrong = append(wrong, o.statement)
			}
		}
	}
	for _, c := range closed {
		for _, s := range c.past {
			if s.refuter != nil && s.by != by.by && s.stance != by.stance {
				t.charge(s, a)
			}
		}
	}
	byNumber := func(a, b *statement) int { return cmp.Compare(a.number, b.number) }
	slices.SortFunc(wrong, byNumber)
	for _, s := range wrong {
		if s.refuter == nil {
			s.refuter = by
		}
		t.charge(s, a)
	}
	slices.SortFunc(wrong, func(a, b *statement) int { // the last ones are remembered: reporters with weight to lose
		return cmp.Or(cmp.Compare(min(a.weight, 1), min(b.weight, 1)), byNumber(a, b))
	})
	for _, s := range wrong {
		for _, c := range decided {
			if o := c.words[s.by]; o != nil && o.statement == s {
				c.remove(o, by.at)
			}
		}
	}
}

// stand notes who stands by the statement of a key, those who came first.
func (t *tally) stand(a against, c *dossier) {
	a.standing[c] = nil
	for _, o := range c.words {
		if o.stance == a.by.stance && !o.idle && o.weight > 0 {
			a.standing[c] = append(a.standing[c], o.by)
		}
	}
	slices.SortFunc(a.standing[c], func(x, y string) int { return cmp.Compare(t.numbers[x], t.numbers[y]) })
	a.standing[c] = a.standing[c][:min(len(a.standing[c]), mostFirst)]
}

// charge takes reputation from the reporter of a refuted statement, once, unless only the one stands against it who
// was behind the last charge.
func (t *tally) charge(s *statement, a against) {
	isClosed := func(k key) bool { _, is := a.standing[t.cases[k]]; return is }
	if s.charged || !slices.ContainsFunc(s.keys, isClosed) {
		return
	}
	last, accuser := t.accusers[s.by], ""
	if a.by.by != last {
		accuser = a.by.by
	}
	for _, k := range s.keys {
		for _, name := range a.standing[t.cases[k]] {
			if accuser == "" && name != last && name != s.by {
				accuser = name
			}
		}
	}
	if accuser == "" {
		return
	}
	s.charged, t.accusers[s.by] = true, accuser
	credit, charge := t.cost(s)
	t.experience(s.by, -credit, charge, a.by.at)
}

// cost returns the credit that a refuted statement loses, and the charge.
func (t *tally) cost(s *statement) (credit, charge float64) {
	if t.rules.keeps {
		return 0, trust.MaxCredit
	}
	return s.credit.float(), trust.Refutation
}

func (t *tally) faded(since, now time.Time) float64 {
	return math.Exp2(-max(float64(now.Sub(since)), 0) / float64(t.model.HalfLife))
}

// pardon takes charges back that statements brought which their reporter reverses, unless others stand by the same;
// else one of those refutes.
func (t *tally) pardon(by *statement, reversed []*statement) {
	for _, k := range by.keys {
		for _, s := range t.cases[k].past {
			if !s.charged || !slices.Contains(reversed, s.refuter) {
				continue
			}
			if other := t.stands(s, by.by); other != nil {
				s.refuter = other
				continue
			}
			s.charged = false
			credit, charge := t.cost(s)
			t.experience(s.by, credit*t.faded(s.at, by.at), -charge*t.faded(s.refuter.at, by.at), by.at)
		}
	}
}

// stands returns the statement of another reporter that contradicts one.
func (t *tally) stands(s *statement, but string) *statement {
	for _, k := range s.keys {
		for _, name := range slices.SortedFunc(maps.Keys(t.dossier(k).words), func(x, y string) int { return cmp.Compare(t.numbers[x], t.numbers[y]) }) {
			if o := t.dossier(k).words[name]; name != but && name != s.by && o.stance != s.stance && !o.idle && o.weight > 0 {
				return o.statement
			}
		}
	}
	return nil
}
