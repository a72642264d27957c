package yancho

import (
	"math/rand/v2"
	"slices"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// elements is the number of distinct keys of all experiments.
const elements = 10_000

// frequencies are the numbers of insertions of the elements, c_i. The paper draws them once
// for all its 1,000 rounds, and divides by l, the length of the whole sequence, so its
// printed means are multiples of 1/(1000 l). From them follow the l of its draw and, for a
// uniform c_i, the number of elements with c_i = 0.
type frequencies struct {
	draw     func(r *rand.Rand) int
	most     int     // c_i is at most
	distinct int     // elements with c_i > 0 in the paper's draw; 0: not known
	total    int     // l of the paper's draw; 0: not known
	weight   float64 // E[c^2]/E[c]: insertions that an erring element stands for
}

func always(c int) frequencies {
	return frequencies{draw: func(*rand.Rand) int { return c }, most: c, weight: 1}
}

func uniform(most, distinct, total int) frequencies {
	return frequencies{
		draw: func(r *rand.Rand) int { return r.IntN(most + 1) },
		most: most, distinct: distinct, total: total,
		weight: float64(2*most+1) / 3,
	}
}

func poisson(lambda float64, total int) frequencies {
	return frequencies{
		draw:   func(r *rand.Rand) int { return lab.Poisson(r, lambda) },
		most:   60, // below the cells' 63
		total:  total,
		weight: lambda + 1,
	}
}

// sample draws all c_i, and then moves single ones at random until there are as
// many distinct elements and as many insertions as in the paper's draw.
func (f frequencies) sample(r *rand.Rand) []uint32 {
	c := make([]uint32, elements)
	distinct, total := 0, 0
	for i := range c {
		c[i] = uint32(min(f.draw(r), f.most))
		total += int(c[i])
		if c[i] > 0 {
			distinct++
		}
	}
	for f.distinct > 0 && distinct != f.distinct {
		i := r.IntN(elements)
		switch {
		case distinct > f.distinct && c[i] > 0:
			total -= int(c[i])
			c[i] = 0
			distinct--
		case distinct < f.distinct && c[i] == 0:
			c[i] = uint32(1 + r.IntN(f.most))
			total += int(c[i])
			distinct++
		}
	}
	for f.total > 0 && total != f.total {
		i := r.IntN(elements)
		switch {
		case total < f.total && c[i] > 0 && int(c[i]) < f.most:
			c[i]++
			total++
		case total > f.total && c[i] > 1:
			c[i]--
			total--
		}
	}
	return c
}

// order is how the insertions of an experiment follow each other.
type order int

const (
	together order = iota // all of one element, then all of the next
	cyclic                // each element once, and again
	shuffled              // a random permutation (Fisher & Yates)
)

// sequence lists the element of each insertion. For together it is nil: each
// element's insertions are one batch, which gives the same cells.
func (o order) sequence(r *rand.Rand, c []uint32) []uint16 {
	if o == together {
		return nil
	}
	var s []uint16
	for turn := range slices.Max(c) {
		for i, n := range c {
			if turn < n {
				s = append(s, uint16(i))
			}
		}
	}
	if o == shuffled {
		r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	}
	return s
}
