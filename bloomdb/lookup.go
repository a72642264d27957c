package bloomdb

import (
	"math"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// span is the range of generations in which the spam filters may have a key. If the newest
// is before the oldest, none has it.
type span struct{ newest, oldest int64 }

// nowhere is the span of a key that no filter has, and everywhere includes all generations.
var (
	nowhere    = span{math.MinInt64, math.MaxInt64}
	everywhere = span{math.MaxInt64, math.MinInt64}
)

func (s span) isEmpty() bool { return s.newest < s.oldest }

// find widens the span of each key by the generations whose spam filters have it. All keys
// are looked up at once, filter by filter, so that their cache misses overlap: for most mail
// that is all there is to do.
func (v *view) find(keys []filter.Hash, spans []span) {
	answers := make([]bool, 0, 8)
	for _, g := range v.reports {
		for _, b := range [...]*filter.Bits{g.spam.own, g.spam.others} {
			if b == nil {
				continue
			}
			answers = b.HasBatch(keys, answers[:0])
			for i, ok := range answers {
				if ok {
					spans[i] = span{max(spans[i].newest, g.num), min(spans[i].oldest, g.num)}
				}
			}
		}
	}
}

// hasMasks reports whether any signature is retouched.
func (v *view) hasMasks() bool {
	return slices.ContainsFunc(v.reports, func(g *reportGeneration) bool { return g.mask != nil })
}

// lists reports whether a generation lists a key, revoked or not, and no retouch hides it.
func (g *reportGeneration) lists(h filter.Hash) bool { return g.spam.has(h) && !g.mask.hides(h) }

// has reports whether own or joined bits have a key.
func (l *listing) has(h filter.Hash) bool {
	return l.own != nil && l.own.Has(h) || l.others != nil && l.others.Has(h)
}

// sites returns the names of all sites whose filter has a key, this one's among them.
func (l *listing) sites(h filter.Hash, self string) []string {
	var names []string
	if l.own != nil && l.own.Has(h) {
		names = append(names, self)
	}
	names = append(names, l.partsWith(h)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// partsWith returns the names of the trusted sites whose part has a key.
func (l *listing) partsWith(h filter.Hash) []string {
	var names []string
	for _, p := range l.trusted {
		var buf [16]uint64
		if p.part.Min(p.shape.bits().Positions(h, buf[:0])) > 0 {
			names = append(names, p.origin.site)
		}
	}
	return names
}

// counted appends how often each site counted a key in each generation. The number is the
// index of its signature.
func (v *view) counted(counts []siteCount, number int, h filter.Hash, self string) []siteCount {
	for _, g := range v.counts {
		if c := g.ownCount(h); c > 0 {
			counts = append(counts, siteCount{uint32(number), c, g.num, self})
		}
		for i := range g.countedParts {
			c := g.countedParts[i].count(h)
			if c == 0 {
				continue
			}
			if counts == nil {
				counts = make([]siteCount, 0, 1+len(g.countedParts))
			}
			counts = append(counts, siteCount{uint32(number), c, g.num, g.countedParts[i].origin.site})
		}
	}
	return counts
}

func (g *countGeneration) ownCount(h filter.Hash) uint32 {
	if g.own == nil {
		return 0
	}
	return g.own.Count(h)
}

func (p *sitePart) count(h filter.Hash) uint32 {
	positions := p.shape.counts().Positions(h)
	return p.part.Min(positions[:])
}
