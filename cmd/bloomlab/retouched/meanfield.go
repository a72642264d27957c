package retouched

import (
	"cmp"
	"math"
	"slices"

	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// outcome is the effect of one selection at one beta.
type outcome struct{ s, deltaFP, deltaFN, chi float64 }

// The paper computes nothing for the four selections; it only simulates them.
// Since positions are random, the process can be computed as well, up to terms of
// the order of 1/|F_P|: false positives and the bits they share are a random
// graph, in which keys that meet at one bit meet at no other.
//
// A bit belongs to a class: c members have it, and j false positives that v_B
// counts. Classes with the same rank by the selection are one level. A false
// positive that is still found when its turn comes at time t clears a bit of a
// level, where that is its best, at the rate
//
//	g = ((Q+W)^k - W^k) / (k*Q)
//
// Q is the chance that another of its bits has this level and is not cleared, W
// that it has a worse one; g is the chance that all its other bits are not
// cleared and none is better, with equal ones sharing. Over time a bit is left
// alone by one false positive with 1-I, I being the integral of g; by all j with
// (1-I)^j; and, seen from one of the j, by the others with (1-I)^(j-1).
type meanField struct {
	lambda float64 // false positives in v_B of a bit that is set, in expectation
	levels []level // the best first
}

type level struct {
	classes []class
	cleared float64 // I
}

type class struct {
	j     int     // false positives of v_B
	bit   float64 // share of the bits that are set
	other float64 // share of the bits of a false positive that v_B counts
	lost  float64 // share of the bits of a member
}

// Classes beyond these have shares below 1e-9 at the paper's parameters.
const (
	maxA = 9
	maxB = 22
)

func poisson(mean float64, x int) float64 {
	lg, _ := math.Lgamma(float64(x + 1))
	return math.Exp(float64(x)*math.Log(mean) - mean - lg)
}

// newMeanField sorts all classes into levels by the rank that the selection gives
// them; less is better.
func newMeanField(selection papers.Selection, lambda float64) *meanField {
	f := &meanField{lambda: lambda}
	const load = float64(hashes) * members / size // members of a bit
	byRank := make(map[float64][]class)
	for c := 1; c <= maxA; c++ {
		set := poisson(load, c) / -math.Expm1(-load)
		for j := range maxB {
			x := class{j: j, bit: set * poisson(lambda, j), lost: poisson(load, c-1) * poisson(lambda, j)}
			if j > 0 {
				x.other = set * poisson(lambda, j-1)
			}
			rank := map[papers.Selection]float64{
				papers.RandomSelection: 0,
				papers.MinimumFN:       float64(c),
				papers.MaximumFP:       -float64(j),
				papers.RatioSelection:  float64(c) / float64(j),
			}[selection]
			byRank[rank] = append(byRank[rank], x)
		}
	}
	ranks := make([]float64, 0, len(byRank))
	for rank := range byRank {
		ranks = append(ranks, rank)
	}
	slices.SortFunc(ranks, cmp.Compare[float64])
	for _, rank := range ranks {
		f.levels = append(f.levels, level{classes: byRank[rank]})
	}
	return f
}

// rates are g of each level, where I of each is given.
func (f *meanField) rates(cleared []float64) []float64 {
	g := make([]float64, len(cleared))
	worse := 0.0
	for i := len(g) - 1; i >= 0; i-- {
		q := 0.0
		for _, c := range f.levels[i].classes {
			q += c.other * power(1-cleared[i], c.j-1)
		}
		if q > 0 {
			g[i] = (power(q+worse, hashes) - power(worse, hashes)) / (hashes * q)
		}
		worse += q
	}
	return g
}

// power is x^n, 1 for n < 1.
func power(x float64, n int) float64 {
	p := 1.0
	for ; n > 0; n-- {
		p *= x
	}
	return p
}

// run advances the process until a further share of the false positives of v_B is processed
// (Runge-Kutta, 4th order).
func (f *meanField) run(time float64) {
	const steps = 12
	h := time / steps
	at := func(g []float64, h float64) []float64 {
		x := make([]float64, len(f.levels))
		for i, l := range f.levels {
			x[i] = l.cleared
			if g != nil {
				x[i] += h * g[i]
			}
		}
		return x
	}
	for range steps {
		g1 := f.rates(at(nil, 0))
		g2 := f.rates(at(g1, h/2))
		g3 := f.rates(at(g2, h/2))
		g4 := f.rates(at(g3, h))
		for i := range f.levels {
			f.levels[i].cleared += h / 6 * (g1[i] + 2*g2[i] + 2*g3[i] + g4[i])
		}
	}
}

// outcome returns the state of the process after beta of all false positives were processed;
// the others are counted in v_B, or not.
func (f *meanField) outcome(beta float64, counted bool) outcome {
	var bit, member, other float64 // chances of a bit not to be cleared
	for _, l := range f.levels {
		for _, c := range l.classes {
			stays := power(1-l.cleared, c.j)
			bit += c.bit * stays
			member += c.lost * stays
			other += c.other * power(1-l.cleared, c.j-1)
		}
	}
	if !counted {
		other = bit
	}
	o := outcome{
		s:       ones * (1 - bit),
		deltaFP: 1 - (1-beta)*power(other, hashes),
		deltaFN: 1 - power(member, hashes),
	}
	o.chi = o.deltaFP / o.deltaFN
	return o
}

// expected computes the outcomes of a variant for all betas.
func (v variant) expected() []outcome {
	var all []outcome
	load := hashes * falsePositives / ones // false positives of a bit that is set
	f, done := newMeanField(v.selection, load), 0.0
	for _, beta := range betas {
		if v.given {
			f = newMeanField(v.selection, beta*load)
			f.run(1)
		} else {
			f.run(beta - done)
			done = beta
		}
		all = append(all, f.outcome(beta, !v.given))
	}
	return all
}
