package store

import (
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Top returns the highest rung of a key below which none is missing (layout.Rungs), -1 for a
// key that nobody reported or revoked. The ladder filter is read only for keys that both the
// spam and the revocation filter contain: of a single report, its rungs are not needed.
func (g *ReportGeneration) Top(h filter.Hash) int {
	return top(g.Spam.Has(h), g.Revoked.Has(h), func() int { return g.climb(h) })
}

// OwnTop is Top in this site's own filters only. Its parity is that of this site's last word.
func (g *ReportGeneration) OwnTop(h filter.Hash) int {
	return top(g.Spam.hasOwn(h), g.Revoked.hasOwn(h), func() int { return climb(&g.Ladder, g.Ladder.hasOwn, h) })
}

func (l *Listing) hasOwn(h filter.Hash) bool { return l.Own != nil && l.Own.Has(h) }

func top(isReported, isRevoked bool, climb func() int) int {
	switch {
	case isReported && isRevoked:
		return max(climb(), 1)
	case isRevoked:
		return 1
	case isReported:
		return 0
	}
	return -1
}

// WriteTop is Top for a site that writes the next rung. It also reads the rungs of a key that
// only one of the two filters contains: the other one's part may be missing here.
func (g *ReportGeneration) WriteTop(h filter.Hash) int {
	if top := g.climb(h); top > 0 {
		return top
	}
	return g.Top(h)
}

// climb returns the highest rung in the ladder filter below which none is missing there; 0 if
// the first one is.
func (g *ReportGeneration) climb(h filter.Hash) (top int) { return climb(&g.Ladder, g.Ladder.Has, h) }

// climb asks has up to layout.SharedRungs, and from there on this site's own filter.
func climb(l *Listing, has func(filter.Hash) bool, h filter.Hash) (top int) {
	for r := layout.FirstRung; r < layout.Rungs; r++ {
		if r == layout.SharedRungs {
			has = l.hasOwn
		}
		if !has(keyring.Stretch(keyring.RungSeed(h, r))) {
			break
		}
		top = r
	}
	return top
}

// revokes reports whether the newest word about a key is a revocation.
func (g *ReportGeneration) revokes(h filter.Hash) bool {
	return g.Revoked.Has(h) && layout.IsRevocation(g.Top(h))
}
