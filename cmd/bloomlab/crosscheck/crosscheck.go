// Package crosscheck repeats the simulations of Lim, Lee, Lee, Yim, "Reducing False
// Positives of a Bloom Filter using Cross-Checking Bloom Filters" (Appl. Math. Inf.
// Sci. 8(4), 2014), section 4, Tables 3 to 6, with papers.CrossCheck.
//
//	table (sizes, printed numbers) -> bank of filters with random keys
//	  -> queries of keys that were never added -> false positives of each structure
//	Eq. 3, Eq. 31 -> what they are compared with
//
// The paper's keys are the nodes of two routing tables' tries, which are not
// public. This package uses as many random keys, and ideal hashing: positions are drawn.
// Eq. 3 and Eq. 31 assume the same, so the measured numbers are compared with them. The
// printed numbers are shown beside, with a note if they cannot differ by chance. Most of
// the gain that the paper prints for its structure is the loss that its hash functions
// cause in the others. At equal memory there is no gain: see the rows of that name in
// crosscheck-table5.
package crosscheck

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// Experiments returns those of the four tables.
func Experiments() []lab.Experiment {
	var experiments []lab.Experiment
	for _, t := range tables {
		experiments = append(experiments, t.experiment())
	}
	return experiments
}

// tooRare is the expected number of false positives below which a structure is simulated
// only once. A thousand rounds would show only zeros, at the greatest cost, because these
// filters are the largest.
const tooRare = 1e-3

func (t table) experiment() lab.Experiment {
	var often, rare []structure
	for _, s := range t.rows {
		if t.expected(s) < tooRare {
			rare = append(rare, s)
		} else {
			often = append(often, s)
		}
	}
	e := lab.Experiment{
		Name:   fmt.Sprintf("crosscheck-table%d", t.number),
		Title:  fmt.Sprintf("cross-checking filters: false positives at the sizes of %s (paper: %s)", t.name, t.hash),
		Source: fmt.Sprintf("Lim, Lee, Lee, Yim 2014, section 4, Table %d", t.number),
		Trials: []lab.Trial{t.trial(often), t.memoryTrial()},
	}
	if len(rare) > 0 {
		once := t.trial(rare)
		once.Fixed = true
		e.Trials = append(e.Trials, once)
	}
	switch t.number {
	case 3:
		e.Trials = append(e.Trials, leadingZerosTrial())
	case 5:
		e.Trials = append(e.Trials, t.seedsTrial(), t.equalMemoryTrial())
		e.Derived = t.equalMemoryRatios
	case 6:
		e.Trials = append(e.Trials, t.seedsTrial())
	}
	e.Figures = func(rows []lab.Row) []lab.Figure { return []lab.Figure{t.figure(rows)} }
	return e
}

// trial simulates some structures of the table on the same keys and queries.
func (t table) trial(structures []structure) lab.Trial {
	var cells []lab.Cell
	for _, s := range structures {
		cells = append(cells, falsePositiveCell(s.name(), s.printed, t.estimate(s), t.queries, s.note))
	}
	return lab.Trial{Cells: cells, New: func(*rand.Rand) lab.Round {
		b := t.newBank(structures)
		return func(r *rand.Rand, out []float64) {
			b.fill(r)
			b.query(r, out)
		}
	}}
}

func falsePositiveName(structure string) string { return structure + ": false positives" }

// falsePositiveCell is compared with the computed number of false positives. Its deviation
// is computed too, because few rounds cannot measure it: the number is Poisson, and also
// varies with the filling. Two more events keep the tolerance valid if there are none.
func falsePositiveCell(name string, printed float64, e estimate, queries int, note string) lab.Cell {
	expected := e.rate * float64(queries)
	variance := expected + expected*expected*e.spread
	c := lab.Cell{
		Name: falsePositiveName(name), Paper: printed, Note: note,
		Tolerance: func(s lab.Summary) float64 {
			rounds := float64(max(1, s.Rounds))
			return lab.Sigmas * math.Sqrt(variance/rounds+2/(rounds*rounds))
		},
		Why: "against Eq. 3 or 31: 4 standard errors, of a Poisson number and the filling",
	}
	return c.Expect(expected)
}

// memoryTrial computes the memory columns.
func (t table) memoryTrial() lab.Trial {
	half, why := 0.05, "half a unit of the last printed digit"
	if t.rounded {
		half, why = 0, "exact"
	}
	var cells []lab.Cell
	for _, s := range t.rows {
		cells = append(cells, lab.Cell{Name: s.name() + ": memory, KB", Paper: s.memory, Tolerance: lab.Within(half), Why: why})
	}
	return lab.Trial{Cells: cells, Fixed: true, New: func(*rand.Rand) lab.Round {
		return func(_ *rand.Rand, out []float64) {
			for i, s := range t.rows {
				out[i] = t.bits(s) / (8 * 1024)
			}
		}
	}}
}
