package sketch

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

// Top returns the newest word about near-duplicates in a generation that has revoked one; 0 in
// others. A list counts if one site has stored enough of one of the message's groups in it.
func Top(g *store.ReportGeneration, s KindGroups, self string) int {
	if !has(g, s, 1, self) {
		return 0
	}
	return max(climb(g, s, self), 1)
}

// WriteTop returns the rung on which the sketch of a message stands in a generation, for a site
// that writes the next one, see store.ReportGeneration.WriteTop. g may be nil.
func WriteTop(g *store.ReportGeneration, s KindGroups, self string) int {
	if g == nil {
		return -1
	}
	if top := climb(g, s, self); top > 0 {
		return top
	}
	for rung := range layout.FirstRung {
		if r := layout.FirstRung - 1 - rung; has(g, s, r, self) {
			return r
		}
	}
	return -1
}

// climb returns the highest rung from layout.FirstRung on below which none is missing; 0 if the
// first one is.
func climb(g *store.ReportGeneration, s KindGroups, self string) (top int) {
	for r := layout.FirstRung; r < layout.Rungs && has(g, s, r, self); r++ {
		top = r
	}
	return top
}

// has reports whether the list of a rung contains enough of one group, from layout.SharedRungs on
// the list of this site. Of a page, one sender's code is enough: a revocation under one domain
// takes back what several listed.
func has(g *store.ReportGeneration, s KindGroups, rung int, self string) bool {
	q := NewQuery(s, ListOf(rung))
	least := Enough
	if s.Kind == signature.KindShape {
		least = Suffices
	}
	if rung < layout.SharedRungs {
		return len(q.Overlaps(g, self, least, false)) > 0
	}
	return slices.ContainsFunc(q.Overlaps(g, self, least, true), func(o Overlap) bool { return o.Site == self })
}
