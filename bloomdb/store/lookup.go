package store

import (
	"math"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Span is the range of generations whose spam filters may contain a key. If the newest is
// before the oldest, none does.
type Span struct{ Newest, Oldest int64 }

// Nowhere is the span of a key in no filter. everywhere includes all generations.
var (
	Nowhere    = Span{math.MinInt64, math.MaxInt64}
	Everywhere = Span{math.MaxInt64, math.MinInt64}
)

func (s Span) IsEmpty() bool { return s.Newest < s.Oldest }

// Find extends the span of each key to the generations whose spam filters contain it. It looks
// up all keys together, filter by filter, so that their cache misses overlap. Most mail needs no
// other lookup.
func (v *View) Find(keys []filter.Hash, spans []Span) {
	answers := make([]bool, 0, 8)
	for _, g := range v.Reports {
		for _, b := range [...]*filter.Bits{g.Spam.Own, g.Spam.Others} {
			if b == nil {
				continue
			}
			answers = b.HasBatch(keys, answers[:0])
			for i, ok := range answers {
				if ok {
					spans[i] = Span{max(spans[i].Newest, g.Num), min(spans[i].Oldest, g.Num)}
				}
			}
		}
	}
}

// HasMasks reports whether any signature is retouched.
func (v *View) HasMasks() bool {
	return slices.ContainsFunc(v.Reports, func(g *ReportGeneration) bool { return g.Mask != nil })
}

// Lists reports whether a generation lists a key and no retouch hides it. It ignores revocations.
func (g *ReportGeneration) Lists(h filter.Hash) bool { return g.Spam.Has(h) && !g.Mask.Hides(h) }

// Has reports whether the own or the joined bits contain a key.
func (l *Listing) Has(h filter.Hash) bool {
	return l.Own != nil && l.Own.Has(h) || l.Others != nil && l.Others.Has(h)
}

// Sites returns the names of all sites whose filter contains a key, including this one.
func (l *Listing) Sites(h filter.Hash, self string) []string {
	var names []string
	if l.Own != nil && l.Own.Has(h) {
		names = append(names, self)
	}
	names = append(names, l.partsWith(h)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// partsWith returns the names of the trusted sites whose part contains a key.
func (l *Listing) partsWith(h filter.Hash) []string {
	var names []string
	for _, p := range l.Trusted {
		var buf [16]uint64
		if p.Part.Min(p.Shape.Bits().Positions(h, buf[:0])) > 0 {
			names = append(names, p.Origin.Site)
		}
	}
	return names
}

// Counted appends how often each site counted a key in each generation. number is the index of
// the key's signature.
func (v *View) Counted(counts []SiteCount, number int, h filter.Hash, self string) []SiteCount {
	for _, g := range v.Counts {
		if c := g.OwnCount(h); c > 0 {
			counts = append(counts, SiteCount{uint32(number), c, g.Num, self})
		}
		for i := range g.CountedParts {
			c := g.CountedParts[i].Count(h)
			if c == 0 {
				continue
			}
			if counts == nil {
				counts = make([]SiteCount, 0, 1+len(g.CountedParts))
			}
			counts = append(counts, SiteCount{uint32(number), c, g.Num, g.CountedParts[i].Origin.Site})
		}
	}
	return counts
}

func (g *CountGeneration) OwnCount(h filter.Hash) uint32 {
	if g.Own == nil {
		return 0
	}
	return g.Own.Count(h)
}

// SiteCount is how often a site counted one signature in one generation. A site has one for
// each of its epochs.
type SiteCount struct {
	Number uint32 // index of the signature in Set.Counting
	Count  uint32
	Gen    int64
	Site   string
}

// LargeCount is the least count that another site cannot have for all messages: package peers rejects
// blocks with too many.
const LargeCount = 15

func (c SiteCount) IsSame(o SiteCount) bool {
	return c.Number == o.Number && c.Site == o.Site && c.Gen == o.Gen
}

// HasSketches reports whether any filter contains sketches.
func (v *View) HasSketches() bool {
	return slices.ContainsFunc(v.Reports, func(g *ReportGeneration) bool {
		return g.Sketches.Own != nil || g.Sketches.Others != nil
	})
}
