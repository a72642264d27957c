package yancho

import (
	"fmt"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// tableI has m/n, k, the compression rate CR against signatures of 160 bits, and
// the false positives by Eq. 1, with half a unit of their last digit.
var tableI = []struct {
	ratio, k       int
	cr, rate, half float64
}{
	{16, 4, 10, 2.394e-3, 0.5e-6},
	{10, 8, 16, 8.455e-3, 0.5e-6},
	{16, 8, 10, 5.745e-4, 0.5e-7},
	{40, 8, 4, 1.166e-6, 0.5e-9},
	{40, 16, 4, 1.948e-8, 0.5e-11},
}

// table1 computes the table by Eq. 1, for a filter large enough that its two
// forms agree, and measures the rates on filters of 10,000 keys.
func table1() lab.Experiment {
	e := lab.Experiment{
		Name:   "yancho-table1",
		Title:  "storage saving and false positives of a Bloom filter",
		Source: paper + "section III, Table I and Eq. 1",
	}
	for _, row := range tableI {
		name := fmt.Sprintf("m/n=%d k=%d", row.ratio, row.k)
		const large = 1e8 // keys
		e.Trials = append(e.Trials, lab.Trial{
			Fixed: true,
			Cells: []lab.Cell{
				{Name: name + " CR", Paper: row.cr, Tolerance: lab.Within(0), Why: "computed"},
				{Name: name + " Eq. 1", Paper: row.rate, Tolerance: lab.Within(row.half * 1.001), Why: "half a unit of the last printed digit"},
			},
			New: func(*rand.Rand) lab.Round {
				return func(_ *rand.Rand, out []float64) {
					out[0] = 160 / float64(row.ratio)
					out[1] = papers.ClassicError(large*float64(row.ratio), large, row.k)
				}
			},
		}, measureClassic(name+" measured", row.rate, uint64(row.ratio*elements), row.k))
	}
	return e
}

// measureClassic asks a filter of 10,000 keys, hashed by Eq. 2, for absent ones.
// Keys are odd and absent ones even: with 20,000 drawn from all, one in ten rounds
// would ask for one that is there.
func measureClassic(name string, printed float64, m uint64, k int) lab.Trial {
	const asked = 2 * elements
	cell := lab.Cell{
		Name: name, Paper: printed,
		Tolerance: lab.Events(asked, printed, 0), Why: "4 standard errors of the number of false positives",
	}
	return lab.Trial{
		Cells: []lab.Cell{cell},
		New: func(*rand.Rand) lab.Round {
			f := lab.Must(papers.NewClassic(m, k))
			return func(r *rand.Rand, out []float64) {
				hash := lab.Must(papers.DrawUniversal(m, k, r))
				out[0] = falsePositives(f, elements, asked, func(absent uint64, dst []uint64) []uint64 {
					return hash.Positions(1+2*r.Uint64N((papers.UniversalPrime-1)/2)+absent, dst)
				})
			}
		},
	}
}

// falsePositives fills f with keys, drawn with absent=0, and returns how many of
// those asked for thereafter, drawn with absent=1, it finds, as a share.
func falsePositives(f *papers.Classic, keys, asked int, draw func(absent uint64, dst []uint64) []uint64) float64 {
	f.Reset()
	var buf [papers.MaxK]uint64
	for range keys {
		f.Set(draw(0, buf[:0]))
	}
	found := 0
	for range asked {
		if f.Has(draw(1, buf[:0])) {
			found++
		}
	}
	return float64(found) / float64(asked)
}

// table2Cells are the printed cells h1(x), h2(x), h3(x) of server b as x comes 0
// to 4 times: first intuitive, then refined.
var table2Cells = [5][6]float64{
	{1, 1, 0, 1, 1, 0},
	{2, 2, 1, 1, 1, 1},
	{3, 3, 2, 2, 2, 2},
	{4, 4, 3, 3, 3, 3},
	{5, 5, 4, 4, 4, 4},
}

// table2 has the cells of Table II and, from the example it belongs to, the
// merged count before and after each server sees x once more.
func table2() lab.Experiment {
	exact := func(name string, printed float64) lab.Cell {
		return lab.Cell{Name: name, Paper: printed, Tolerance: lab.Within(0), Why: "exact"}
	}
	var cells []lab.Cell
	for times, row := range table2Cells {
		for i, v := range row {
			extension := papers.Extension(i / 3)
			cells = append(cells, exact(fmt.Sprintf("x=%d %v c[h%d]", times, extension, i%3+1), v))
		}
	}
	cells = append(cells,
		exact("merged count of 2 and 3", 6),
		exact("merged count, one more each, intuitive", 8),
		exact("merged count, one more each, refined", 7))
	return lab.Experiment{
		Name:   "yancho-table2",
		Title:  "counter growth in the two extensions, and the merge of the example",
		Source: paper + "section IV, Table II and the example before it",
		Trials: []lab.Trial{{Fixed: true, Cells: cells, New: func(*rand.Rand) lab.Round { return table2Round }}},
	}
}

func table2Round(_ *rand.Rand, out []float64) {
	for _, e := range []papers.Extension{papers.Intuitive, papers.Refined} {
		b := server(e, 1, 1, 0)
		for times := range 5 {
			for i := range uint64(3) {
				out[times*6+int(e)*3+int(i)] = float64(b.Cells().Cell(i))
			}
			b.Add(exampleKey, 1)
		}
	}
	out[30] = mergedCount(papers.Intuitive, 0)
	out[31] = mergedCount(papers.Intuitive, 1)
	out[32] = mergedCount(papers.Refined, 1)
}

// exampleKey are the positions of the example's x.
var exampleKey = []uint64{0, 1, 2}

func server(e papers.Extension, cells ...uint32) *papers.Counting {
	c, flat := newCounting(e, 3, 3, 5)
	for i, v := range cells {
		flat.SetCell(uint64(i), v)
	}
	return c
}

// mergedCount is the count of x after servers a and b have each seen it so many
// times more, and were merged.
func mergedCount(e papers.Extension, more uint32) float64 {
	a, b := server(e, 2, 5, 8), server(e, 4, 4, 3)
	a.Add(exampleKey, more)
	b.Add(exampleKey, more)
	lab.Check(a.Sum(b))
	return float64(a.Count(exampleKey))
}
