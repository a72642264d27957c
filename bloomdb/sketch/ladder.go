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
	if !hasRung(g, s, 1, self, false) {
		return 0
	}
	return max(climb(g, s, layout.FirstRung, self, layout.SharedRungs), 1)
}

// WriteTop returns the rung on which the sketch of a message stands in a generation, for a site
// that writes the next one, see store.ReportGeneration.WriteTop. g may be nil.
func WriteTop(g *store.ReportGeneration, s KindGroups, self string) int {
	if g == nil {
		return -1
	}
	return climb(g, s, 0, self, layout.SharedRungs)
}

// OwnTop is WriteTop in the filters of the site self only. Its parity is that of the site's last
// word about the sketch.
func OwnTop(g *store.ReportGeneration, s KindGroups, self string) int {
	if g == nil {
		return -1
	}
	return climb(g, s, 0, self, 0)
}

// HasReport reports whether this site's last word about any of some sketches is a report, in the newest generation in which
// it has a word.
func (sk *Index) HasReport(sketches []signature.Sketch) bool {
	return slices.ContainsFunc(sk.Reported(sketches), func(s KindGroups) bool {
		for _, g := range sk.store.View.Load().Reports {
			if top := OwnTop(g, s, sk.opt.Site); top >= 0 {
				return !layout.IsRevocation(top)
			}
		}
		return false
	})
}

// climb returns the highest rung from a first one on, -1 if there is none. From layout.FirstRung on
// none may be missing below it. From the rung shared on only those of this site count.
func climb(g *store.ReportGeneration, s KindGroups, first int, self string, shared int) int {
	top := -1
	for r := first; r < layout.Rungs; r++ {
		if hasRung(g, s, r, self, r >= shared) {
			top = r
		} else if r >= layout.FirstRung {
			break
		}
	}
	return top
}

// hasRung reports whether the list of a rung contains enough of one group; with onlyOwn, the list of
// this site. Of a page, one sender's code is enough: a revocation under one domain
// takes back what several listed.
func hasRung(g *store.ReportGeneration, s KindGroups, rung int, self string, onlyOwn bool) bool {
	q := NewQuery(s, listOf(rung))
	least := Enough
	if s.Kind == signature.KindShape {
		least = Suffices
	}
	return slices.ContainsFunc(q.Overlaps(g, self, least, onlyOwn), func(o Overlap) bool { return !onlyOwn || o.Site == self })
}
