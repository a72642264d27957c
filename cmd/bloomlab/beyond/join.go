package beyond

import (
	"fmt"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// joinSize is the memory of each site's filter, in bits for one of its own keys.
const joinSize = 16

// joinSites are the numbers of sites whose filters are joined, ascending.
var joinSites = []int{1, 2, 4, 8}

// layoutJoin shows the cost of a join for filters that were sized for the keys of one
// site. The joined filter has the keys of all sites, and the error of a filter with all
// these keys. Filters to be joined must be sized for the union.
func layoutJoin() lab.Trial {
	t := lab.Trial{New: func(*rand.Rand) lab.Round { return joinRound() }}
	for _, sites := range joinSites {
		for _, a := range arrangements {
			want := a.joined(sites)
			systematic := 3 / float64(a.shape(joinSize).Lines) * want
			t.Cells = append(t.Cells, lab.Cell{
				Name:      fmt.Sprintf("%d filters of %d bits a key joined, %s: absent keys found", sites, joinSize, a.name),
				Paper:     lab.None,
				Tolerance: lab.Plus(lab.Events(layoutKeys, want, 0), systematic),
				Why: "4 standard errors of a count of events around the formula for the keys of all in the size of one, " +
					"and 3/lines of the value",
			}.Expect(want))
		}
	}
	return t
}

// joined is the formula's error of the join: all sites' keys in the size of one.
func (a arrangement) joined(sites int) float64 {
	n := float64(sites * layoutKeys)
	if a.lines == 0 {
		return papers.ClassicError(float64(a.shape(joinSize).Size()), n, layoutK)
	}
	return a.shape(joinSize).Error(n)
}

// joinRound joins one site after the other, each with its own keys. For each number of
// sites in a cell, it looks up the same absent keys.
func joinRound() lab.Round {
	var all, site []bloom
	for _, a := range arrangements {
		all, site = append(all, a.filter(joinSize)), append(site, a.filter(joinSize))
	}
	return func(r *rand.Rand, out []float64) {
		for _, f := range all {
			f.Reset()
		}
		row := 0
		for sites := 1; row < len(joinSites); sites++ {
			for _, f := range site {
				f.Reset()
			}
			setKeys(r, site)
			for i, f := range all {
				f.join(site[i])
			}
			if sites == joinSites[row] {
				absentFound(r, all, out[row*len(all):])
				row++
			}
		}
	}
}

// setKeys sets layoutKeys new keys, the same ones in all filters.
func setKeys(r *rand.Rand, filters []bloom) {
	for range layoutKeys {
		h := papers.DrawHash(r)
		for _, f := range filters {
			f.Set(h)
		}
	}
}

// absentFound queries all filters for the same layoutKeys keys that were never set.
func absentFound(r *rand.Rand, filters []bloom, share []float64) {
	var found [8]int
	for range layoutKeys {
		h := papers.DrawHash(r)
		for i, f := range filters {
			if f.Has(h) {
				found[i]++
			}
		}
	}
	for i := range filters {
		share[i] = float64(found[i]) / layoutKeys
	}
}
