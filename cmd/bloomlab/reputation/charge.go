package reputation

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/trust"
)

// refute ends the opposite opinions of keys that a statement has closed, and charges their reporters.
func (t *tally) refute(closed []*dossier, by *statement) {
	var wrong []*statement
	for _, c := range closed {
		for _, s := range slices.Clone(c.past) {
			if s.refuter != nil && s.by != by.by && s.stance != by.stance {
				t.charge(s, by, closed)
			}
		}
		for _, o := range c.words {
			if o.stance != by.stance && !o.idle && !slices.Contains(wrong, o.statement) {
				wrong = append(wrong, o.statement)
			}
		}
	}
	slices.SortFunc(wrong, func(a, b *statement) int { return cmp.Compare(a.number, b.number) })
	for _, s := range wrong {
		if s.refuter == nil {
			s.refuter = by
		}
		t.charge(s, by, closed)
		for _, c := range closed {
			if o := c.words[s.by]; o != nil && o.statement == s {
				c.remove(o, by.at)
			}
		}
	}
}

// charge takes reputation from the reporter of a refuted statement, once, unless only the one stands against it who
// was behind the last charge.
func (t *tally) charge(s, by *statement, closed []*dossier) {
	if s.charged {
		return
	}
	last := t.accusers[s.by]
	accuser := ""
	if by.weight > 0 && by.by != last {
		accuser = by.by
	}
	for _, k := range s.keys {
		if c := t.cases[k]; accuser == "" && slices.Contains(closed, c) {
			for _, o := range c.first {
				if accuser == "" && o.stance == by.stance && !o.idle && o.weight > 0 && o.by != last {
					accuser = o.by
				}
			}
		}
	}
	if accuser == "" {
		return
	}
	s.charged, t.accusers[s.by] = true, accuser
	credit, charge := t.cost(s)
	t.experience(s.by, -credit, charge, by.at)
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

// pardon takes charges back that statements brought which their reporter reverses, unless others have a quorum for
// the same.
func (t *tally) pardon(by *statement, reversed []*statement) {
	for _, k := range by.keys {
		for _, s := range t.cases[k].past {
			isLost := !slices.ContainsFunc(s.keys, func(k key) bool { return t.dossier(k).sums[1-s.stance] >= t.quorum })
			if !s.charged || !slices.Contains(reversed, s.refuter) || !isLost {
				continue
			}
			s.charged = false
			credit, charge := t.cost(s)
			t.experience(s.by, credit*t.faded(s.at, by.at), -charge*t.faded(s.refuter.at, by.at), by.at)
		}
	}
}
