package generalized

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

const (
	attackBits    = 65536
	attackQueries = 5000
	targets       = 20000 // keys for which bits are made

	noteCrafted  = "The paper calls F_p a bound \"regardless of the state of the bit array\" (section 4.2). It is a bound for keys that are chosen without knowledge of the bits. A sender that knows the positions inserts only keys that leave the earlier ones intact."
	noteEndless  = "The paper calls F_n a bound and allows unlimited insertions (section 4.1), but F_n is for n later keys. In the end, an old key is lost with a chance of 1-F_p."
	noteSmall    = "F_p assumes b0 = k0 and b1 = k1 distinct bits. If functions coincide, fewer bits are looked up; at m = 256 this is visible: the mean of 2^-(distinct positions) is above 2^-8 = F_p."
	noteSizeless = "For the same bound 2^-(k0+k1), a Bloom filter of k0+k1 functions that is rejected when more than half of its bits are ones loses no key at all."
)

// attacks are filters of a sender who violates the rules.
func attacks() lab.Experiment {
	e := lab.Experiment{
		Name:   "generalized-attack",
		Title:  "filters made by hand: all ones, all zeros, and bits chosen for the keys to be found",
		Source: paper + "section 4, Eq. 19; the paper's column is F_p",
	}
	for _, k := range []int{2, 4} {
		for _, p0 := range []float64{0, 1, 0.5} {
			e.Trials = append(e.Trials, saturated(k, p0))
		}
	}
	for _, k := range craftedK {
		e.Trials = append(e.Trials, crafted(k))
	}
	e.Trials = append(e.Trials, endless(), coinciding(), price())
	e.Figures = func(rows []lab.Row) []lab.Figure { return []lab.Figure{attackFigure(rows)} }
	return e
}

// saturated is a filter whose bits are 0 with the chance p0. It is queried for keys that
// were chosen without knowledge of these bits, beside a Bloom filter with as many functions.
func saturated(k int, p0 float64) lab.Trial {
	shape := newGeometry(attackBits, k, k)
	what := map[float64]string{0: "all ones", 1: "all zeros", 0.5: "half ones"}[p0]
	cell := func(name string, printed, reference float64) lab.Cell {
		return lab.Cell{
			Name: fmt.Sprintf("%s, %s: found", what, name), Paper: printed,
			Tolerance: lab.Share(attackQueries, reference, 0.01, 1), Why: whyShare,
		}.Expect(reference)
	}
	return lab.Trial{
		Cells: []lab.Cell{
			cell(fmt.Sprintf("BF k=%d", 2*k), 1, math.Pow(1-p0, float64(2*k))),
			cell(fmt.Sprintf("GBF %d+%d", k, k), shape.FalsePositiveBound(), shape.falsePositive(0, p0)),
		},
		New: func(*rand.Rand) lab.Round {
			bloom := newBloom(2 * k)
			buf := make([]uint64, 0, 2*k)
			return func(r *rand.Rand, out []float64) {
				initialize(bloom, p0, r)
				g := shape.drawn(p0, r)
				out[0], out[1] = 0, 0
				for range attackQueries {
					positions := shape.Positions(papers.DrawHash(r), buf)
					if bloom.Has(positions) {
						out[0] += 1.0 / attackQueries
					}
					if g.Has(positions) {
						out[1] += 1.0 / attackQueries
					}
				}
			}
		},
	}
}

func newFilter(shape geometry) *generalized.Filter {
	return lab.Must(generalized.New(shape.Shape))
}

func newBloom(k int) *papers.Classic {
	return lab.Must(papers.NewClassic(attackBits, k))
}

// craftedK are the k0 = k1 for which filters are made by hand.
var craftedK = []int{1, 2, 3, 4}

// crafted is a filter whose bits were chosen so that many of 20,000 given keys are found.
func crafted(k int) lab.Trial {
	shape := newGeometry(attackBits, k, k)
	taken, fixed := craftedModel(2 * k)
	zeros := 1 - fixed/2
	name := fmt.Sprintf("crafted GBF %d+%d: ", k, k)
	return lab.Trial{
		Cells: []lab.Cell{
			lab.Cell{
				Name: name + "chosen keys found", Paper: shape.FalsePositiveBound(), Note: noteCrafted,
				Tolerance: lab.Plus(lab.StandardErrors, 0.01*taken), Why: "4 standard errors, and 1 % for the mean-field model of the choice",
			}.Expect(taken),
			lab.Cell{
				Name: name + "other keys found", Paper: shape.FalsePositiveBound(),
				Tolerance: lab.Share(attackQueries, math.Pow(zeros*(1-zeros), float64(k)), 0.05, 1), Why: "4 standard errors, and 5 % for the mean-field model, whose share of ones is raised to the k-th power",
			}.Expect(math.Pow(zeros*(1-zeros), float64(k))),
			lab.Cell{Name: name + "passes the gate of Plausible", Paper: lab.None, Tolerance: lab.Within(0), Why: "always"}.Expect(1),
		},
		New: func(*rand.Rand) lab.Round {
			c := crafter{shape: shape, fixed: make([]bool, attackBits), buf: make([]uint64, 0, 2*k)}
			return c.round
		},
	}
}

// crafter makes a filter by inserting only those wanted keys that agree with all bits fixed
// before.
type crafter struct {
	shape  geometry
	filter *generalized.Filter
	fixed  []bool
	buf    []uint64
}

func (c *crafter) round(r *rand.Rand, out []float64) {
	c.filter = newFilter(c.shape)
	clear(c.fixed)
	wanted := make([]filter.Hash, targets)
	for i := range wanted {
		wanted[i] = papers.DrawHash(r)
		c.offer(c.positions(wanted[i]))
	}
	out[0], out[1], out[2] = 0, 0, 0
	for _, key := range wanted {
		if c.filter.Has(c.positions(key)) {
			out[0] += 1.0 / targets
		}
	}
	for range attackQueries {
		if c.filter.Has(c.positions(papers.DrawHash(r))) {
			out[1] += 1.0 / attackQueries
		}
	}
	if c.filter.Plausible() == nil {
		out[2] = 1
	}
}

func (c *crafter) positions(key filter.Hash) []uint64 {
	return c.shape.Positions(key, c.buf)
}

// offer inserts the key if no fixed bit contradicts it, and fixes its bits. A single bit is
// read by a key whose positions are all that bit. Such a key is found if the bit is 0,
// because its setting functions coincide with resetting ones.
func (c *crafter) offer(positions []uint64) {
	single := make([]uint64, len(positions))
	for i, pos := range positions {
		if !c.fixed[pos] {
			continue
		}
		for j := range single {
			single[j] = pos
		}
		if zero := c.filter.Has(single); zero != (i < c.shape.K0) {
			return
		}
	}
	c.filter.Insert(positions)
	for _, pos := range positions {
		c.fixed[pos] = true
	}
}

// craftedModel is the mean course of the choice: with the share f of bits fixed,
// half of them to each value, a key of k positions agrees with the chance
// (1-f/2)^k and then fixes (1-f)/(1-f/2) bits for each. It returns the share of
// targets that is taken, and f in the end.
func craftedModel(k int) (taken, fixed float64) {
	for range targets {
		agrees := math.Pow(1-fixed/2, float64(k))
		taken += agrees / targets
		fixed += agrees * float64(k) * (1 - fixed) / (1 - fixed/2) / attackBits
	}
	return taken, fixed
}

// endless is a filter with endless insertions: the oldest key is lost, except with the
// chance F_p, whatever F_n is.
func endless() lab.Trial {
	shape := newGeometry(8192, 2, 2)
	const later = 5 * 8192
	lost := shape.falseNegativeAfter(later)
	return lab.Trial{
		Cells: []lab.Cell{lab.Cell{
			Name: fmt.Sprintf("GBF 2+2, m=%d: oldest of %d keys lost", shape.M, later), Paper: lab.None, Note: noteEndless,
			Tolerance: lab.Share(1, lost, 0.01, 1), Why: whyShare,
		}.Expect(lost)},
		New: func(*rand.Rand) lab.Round {
			buf := make([]uint64, 0, 4)
			return func(r *rand.Rand, out []float64) {
				g, first := newFilter(shape), papers.DrawHash(r)
				g.Insert(shape.Positions(first, buf))
				for range later {
					g.Insert(shape.Positions(papers.DrawHash(r), buf))
				}
				out[0] = 1
				if g.Has(shape.Positions(first, buf)) {
					out[0] = 0
				}
			}
		},
	}
}

// coinciding is a filter so small that F_p is not a bound.
func coinciding() lab.Trial {
	shape := newGeometry(256, 4, 4)
	reference := distinctPower(256, 8)
	const queries = 20000
	return lab.Trial{
		Cells: []lab.Cell{lab.Cell{
			Name: "GBF 4+4, m=256, half ones: found", Paper: shape.FalsePositiveBound(), Note: noteSmall,
			Tolerance: lab.Share(queries, reference, 0.01, 1), Why: whyShare,
		}.Expect(reference)},
		New: func(*rand.Rand) lab.Round {
			buf := make([]uint64, 0, 8)
			return func(r *rand.Rand, out []float64) {
				g := shape.drawn(0.5, r)
				out[0] = 0
				for range queries {
					if g.Has(shape.Positions(papers.DrawHash(r), buf)) {
						out[0] += 1.0 / queries
					}
				}
			}
		},
	}
}

// distinctPower is the mean of 2^-D, D being how many of k random positions among
// m are distinct: the chance that a key is found in random bits, half of them
// ones, when no bit is asked for twice.
func distinctPower(m, k int) float64 {
	chance := make([]float64, k+1) // of so many distinct
	chance[0] = 1
	for range k {
		for d := k; d > 0; d-- {
			chance[d] = chance[d]*float64(d)/float64(m) + chance[d-1]*float64(m-d+1)/float64(m)
		}
		chance[0] = 0
	}
	mean := 0.0
	for d, p := range chance {
		mean += p * math.Pow(2, -float64(d))
	}
	return mean
}

// price is the memory per key that is lost with at most 5 %, beside that of a Bloom filter
// with the same bound.
func price() lab.Trial {
	t := lab.Trial{Fixed: true}
	var values []float64
	add := func(name string, reference, value float64) {
		t.Cells = append(t.Cells, lab.Cell{
			Name: name, Paper: lab.None, Tolerance: lab.Within(0.5), Why: "whole bits", Note: noteSizeless,
		}.Expect(reference))
		values = append(values, value)
	}
	add("GBF 2+2: bits a key at F_n = 5 %", 155, bitsPerKey(2))
	add("GBF 4+4: bits a key at F_n = 5 %", 622, bitsPerKey(4))
	add("BF k=4, half full: bits a key", 6, 4/ln2)
	add("BF k=8, half full: bits a key", 12, 8/ln2)
	t.New = func(*rand.Rand) lab.Round { return func(_ *rand.Rand, out []float64) { copy(out, values) } }
	return t
}

// bitsPerKey is the m/n at which F_n is 5 %, for k0 = k1 = k.
func bitsPerKey(k int) float64 {
	const m = 1 << 26
	lo, hi := 1.0, 10000.0
	for range 60 {
		mid := (lo + hi) / 2
		if newGeometry(m, k, k).falseNegativeBound(m/mid) > 0.05 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
