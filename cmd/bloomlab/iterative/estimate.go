package iterative

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

const (
	noteFill     = "The paper's column is Eq. 6, which sets the bit of a repetition at random, although the walk always ends on a zero."
	noteEstimate = "Eq. 9 uses 1/(1-p/2) as the mean of 1/(1-p) over the filling, which is larger, and omits the p/(1-p) ones that follow by chance. By hand for alpha = 0.9: p is 0, 0.274 and 0.474 at the beginning, middle and end; Simpson's rule gives 1.402 for the mean, Eq. 9 uses 1.309."
	noteSingle   = "No count is below 1, so ones that follow by chance show in the mean of small counts, whatever the estimator."
	whyMean      = "4 standard errors, and for the mean-field model 0.3 % of the ones, 1 % of the counts"
)

// estimates is section 3.2: how often a key was added, read from its run of ones.
func estimates() lab.Experiment {
	e := lab.Experiment{
		Name:   "iterative-estimate",
		Title:  "counts read from an iterative filter: the paper's estimator and the corrected one",
		Source: paper + "section 3.2, Eq. 6 and 9; it measures nothing, so the paper's column has Eq. 6 only",
	}
	for _, alpha := range []float64{0.9, 0.7, 0.5, 0.3} {
		e.Trials = append(e.Trials, heavyKey(alpha, halfOne), heavyKey(alpha, allOne))
	}
	for _, alpha := range []float64{0.5, 0.2, 0.1} {
		e.Trials = append(e.Trials, evenKeys(alpha))
	}
	e.Figures = func(rows []lab.Row) []lab.Figure { return []lab.Figure{figureOfEstimates(rows)} }
	return e
}

// heavyKey has one very frequent key, and looks it up; in case 3 it also looks up all
// others, which are added once.
func heavyKey(alpha float64, skew int) lab.Trial {
	load := newWorkload(alpha, inputs, skew)
	m, n := modelOf(load), float64(load.counts[0])
	paperFill := equation6(float64(len(load.counts)), inputs)
	name := fmt.Sprintf("alpha=%.1f case %d", alpha, skew)
	cells := []lab.Cell{
		held(name+" ones", m.end(), 0.003*m.end()).withPaper(paperFill, noteFill),
		held(fmt.Sprintf("%s Eq. 9 over true, a key added %.0f times", name, n), equation9(m.extra(n)+1, paperFill)/n, 0.01).withPaper(lab.None, noteEstimate),
		held(fmt.Sprintf("%s corrected over true, a key added %.0f times", name, n), 1, 0.01).Cell,
	}
	if skew == allOne {
		cells = append(cells,
			held(name+" Eq. 9, keys added once", equation9(m.extra(1)+1, paperFill), 0.01).withPaper(lab.None, noteSingle),
			held(name+" corrected, keys added once", m.single(), 0.01).withPaper(lab.None, noteSingle),
			lab.Cell{Name: name + " share of keys added once that read 5 or more", Paper: lab.None},
		)
	}
	return lab.Trial{Cells: cells, New: func(*rand.Rand) lab.Round {
		f, keys, load := newFilter(), make([]filter.Hash, len(load.counts)), newWorkload(alpha, inputs, skew)
		return func(r *rand.Rand, out []float64) {
			fillWith(f, load, keys, r)
			out[0] = f.Fill()
			e := f.Estimate(keys[0].Sequence(size))
			out[1], out[2] = equation9(float64(e.Run-k+1), paperFill)/n, e.Count/n
			if skew != allOne {
				return
			}
			out[3], out[4], out[5] = 0, 0, 0
			once := float64(len(keys) - 1)
			for _, key := range keys[1:] {
				e := f.Estimate(key.Sequence(size))
				out[3] += equation9(float64(e.Run-k+1), paperFill) / once
				out[4] += e.Count / once
				if e.Count >= 5 {
					out[5] += 1 / once
				}
			}
		}
	}}
}

// equation6 is the paper's fill, the share of ones after so many Adds of so many
// distinct keys. It is too low by up to 6 %, as it lets a repetition's bit fall on a
// one, which a walk never does.
func equation6(distinct, adds float64) float64 {
	return -math.Expm1(-(k*distinct + adds - distinct) / float64(size))
}

// equation9 is the paper's count of a key that has a run of j ones, of which the first k
// count as one, in a filter of fill p. It uses 1/(1-p/2) as the mean of 1/(1-p) while the
// filter fills, which is too small, and ignores that the run may continue by chance.
func equation9(j, p float64) float64 { return (1 - p/2) * j }

// equation10 is the paper's share of keys that are found but were never added.
func equation10(distinct, adds float64) float64 { return math.Pow(equation6(distinct, adds), k) }

// evenKeys has keys that are all added equally often.
func evenKeys(alpha float64) lab.Trial {
	load := newWorkload(alpha, inputs, even)
	m, n := modelOf(load), load.counts[0]
	paperFill := equation6(float64(len(load.counts)), inputs)
	name := fmt.Sprintf("alpha=%.1f case 1", alpha)
	cells := []lab.Cell{
		held(name+" ones", m.end(), 0.003*m.end()).withPaper(paperFill, noteFill),
		held(fmt.Sprintf("%s Eq. 9, keys added %d times", name, n), equation9(m.extra(float64(n))+1, paperFill), 0.01*float64(n)).withPaper(lab.None, noteEstimate),
		{Name: fmt.Sprintf("%s corrected, keys added %d times", name, n), Paper: lab.None},
	}
	return lab.Trial{Cells: cells, New: func(*rand.Rand) lab.Round {
		f, keys, load := newFilter(), make([]filter.Hash, len(load.counts)), newWorkload(alpha, inputs, even)
		return func(r *rand.Rand, out []float64) {
			fillWith(f, load, keys, r)
			out[0], out[1], out[2] = f.Fill(), 0, 0
			for _, key := range keys {
				e := f.Estimate(key.Sequence(size))
				out[1] += equation9(float64(e.Run-k+1), paperFill) / float64(len(keys))
				out[2] += e.Count / float64(len(keys))
			}
		}
	}}
}

// cell is a lab.Cell in the making.
type cell struct{ lab.Cell }

// held is a mean that must be the model's, to so much.
func held(name string, reference, systematic float64) cell {
	return cell{lab.Cell{
		Name: name, Paper: lab.None,
		Tolerance: lab.Plus(lab.StandardErrors, systematic), Why: whyMean,
	}.Expect(reference)}
}

func (c cell) withPaper(printed float64, note string) lab.Cell {
	c.Paper, c.Note = printed, note
	return c.Cell
}
