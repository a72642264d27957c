package judging

import (
	"cmp"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/store"
)

// summedCounts adds up the counts of each site's epochs.
func summedCounts(counts []store.SiteCount) []store.SiteCount {
	return joinedCounts(counts, func(c *store.SiteCount, o store.SiteCount) { c.Count += o.Count })
}

// joinedCounts sorts counts and joins those of one site in one generation. There may be thousands.
func joinedCounts(counts []store.SiteCount, join func(*store.SiteCount, store.SiteCount)) (joined []store.SiteCount) {
	counts = slices.Clone(counts)
	sortCounts(counts)
	for _, c := range counts {
		if last := len(joined) - 1; last >= 0 && joined[last].IsSame(c) {
			join(&joined[last], c)
		} else {
			joined = append(joined, c)
		}
	}
	return joined
}

func sortCounts(counts []store.SiteCount) {
	slices.SortFunc(counts, func(a, b store.SiteCount) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Gen, b.Gen))
	})
}

// mostCounted returns the largest count of the counting signatures, that of this site, and the number of
// sites that contribute to the first.
func (f *facts) mostCounted(self string) (most, own uint64, sites int) {
	sortCounts(f.counts)
	for rest := f.counts; len(rest) > 0; {
		number, n, names := rest[0].Number, uint64(0), 0
		for len(rest) > 0 && rest[0].Number == number {
			one := 1
			for one < len(rest) && rest[one].Number == number && rest[one].Site == rest[0].Site {
				one++
			}
			of := countOf(rest[:one], rest[0].Site == self)
			if rest[0].Site == self {
				own = max(own, of)
			}
			n += of
			names++
			rest = rest[one:]
		}
		if n > most {
			most, sites = n, names
		}
	}
	return most, own, sites
}

// countOf returns the sum of the counts of one site, ordered by generation. Another site could have
// counts below store.LargeCount for all messages, in each generation. They count like those of one
// generation, or such a site would make all mail bulk.
func countOf(counts []store.SiteCount, isOwn bool) (sum uint64) {
	largest, of := uint64(0), uint64(0)
	for i, c := range counts {
		if i == 0 || c.Gen != counts[i-1].Gen {
			of = 0
		}
		of += uint64(c.Count)
		largest = max(largest, of)
		sum += uint64(c.Count)
	}
	if !isOwn && largest < store.LargeCount {
		return min(sum, store.LargeCount-1)
	}
	return sum
}
