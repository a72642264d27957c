package yancho

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// The text of section V.B on counter growth, and Eq. 3 and 4, with the data of
// Experiment 1.

const whyCells = "binomial number of keys that hit a cell; " + lab.WhySigmas

// growth are the cells for what grown measures. Every key comes 20 times, so that
// an intuitive cell is above 20 where two keys hit it, and at 63 where four do.
func growth(name string, m uint64, k int) []lab.Cell {
	hit := -math.Expm1(float64(k) * math.Log1p(-1/float64(m)))
	above := func(keys int) float64 { return float64(m) * atLeast(keys, elements, hit) }
	held := func(what string, reference float64) lab.Cell {
		return lab.Cell{Name: name + " " + what, Paper: lab.None, Tolerance: lab.Plus(lab.StandardErrors, 2), Why: whyCells}.Expect(reference)
	}
	return []lab.Cell{
		held("intuitive cells above 20", above(2)),
		held("intuitive cells at 63", above(4)),
		{Name: name + " refined cells above 20", Paper: lab.None},
	}
}

func (f *filters) grown(out []float64) {
	clear(out)
	for pos := range f.m {
		if v := f.cells[0].Cell(pos); v > 20 {
			out[0]++
			if v == 63 {
				out[1]++
			}
		}
		if f.cells[1].Cell(pos) > 20 {
			out[2]++
		}
	}
}

// atLeast is P(X >= j) for a binomial X of n trials with chance p.
func atLeast(j, n int, p float64) float64 {
	sum := 0.0
	for i := j; i <= n; i++ {
		term := math.Exp(choose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
		sum += term
		if float64(i) > float64(n)*p && term < sum*1e-17 {
			break
		}
	}
	return sum
}

// choose is the logarithm of the binomial coefficient.
func choose(n, i int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(i + 1))
	c, _ := math.Lgamma(float64(n - i + 1))
	return a - b - c
}

// twoHundred is the text's claim that cells above 20 "can be more than 200
// times" as many in the intuitive filter.
func twoHundred(byName map[string]lab.Row) lab.Derived {
	name := configuration(160_000, 4)
	intuitive, refined := byName[name+" intuitive cells above 20"], byName[name+" refined cells above 20"]
	ratio := intuitive.Measured / refined.Measured
	events := refined.Measured * float64(refined.Rounds)
	return lab.Derived{
		Summary: lab.Summary{Mean: ratio, SD: lab.None, Rounds: refined.Rounds},
		Cell: lab.Cell{
			Name: name + " cells above 20, intuitive over refined", Paper: 200,
			Tolerance: lab.Within(max(0, ratio-200) + lab.Sigmas*ratio/math.Sqrt(events)),
			Why:       "according to the text, more than 200; 4 standard errors less are accepted",
		},
	}
}

// listed is how many absent messages of how many are listed at t=20.
const listed = 20

const noteEquation4 = "Eq. 4 with Eq. 3 treats a cell as the sum of nk independent hits of one each. With n the 10,000 keys it gives " +
	"3.5e-99 here, with n their 200,000 insertions 1.4e-10; but a key's 20 insertions all hit the same cells, and a cell " +
	"is at 20 as soon as one key hits it: (1-(1-1/m)^(kn))^k"

// listings measures f_dcc: messages that never came, and count 20 all the same.
func listings() lab.Trial {
	const m, k = 80_000, 4
	cell := func(e papers.Extension) lab.Cell {
		return lab.Cell{
			Name: fmt.Sprintf("%s absent keys that count %d or more, %v", configuration(m, k), listed, e), Paper: lab.None,
			Tolerance: lab.StandardErrors, Why: lab.WhySigmas, Note: noteEquation4,
		}.Expect(papers.ClassicError(m, elements, k))
	}
	return lab.Trial{
		Cells: []lab.Cell{cell(papers.Intuitive), cell(papers.Refined)},
		New: func(*rand.Rand) lab.Round {
			intuitive, _ := newCounting(papers.Intuitive, m, k, cellBits)
			refined, _ := newCounting(papers.Refined, m, k, cellBits)
			return func(r *rand.Rand, out []float64) {
				hash := lab.Must(papers.DrawUniversal(m, k, r))
				intuitive.Reset()
				refined.Reset()
				var buf [k]uint64
				for range elements {
					x := hash.Positions(drawKey(r), buf[:0])
					intuitive.Add(x, listed)
					refined.Add(x, listed)
				}
				out[0], out[1] = 0, 0
				for range elements {
					x := hash.Positions(drawKey(r), buf[:0])
					if intuitive.Count(x) >= listed {
						out[0] += 1.0 / elements
					}
					if refined.Count(x) >= listed {
						out[1] += 1.0 / elements
					}
				}
			}
		},
	}
}

// equation4 shows what the printed equation gives, beside listings.
func equation4() lab.Trial {
	const m, k = 80_000, 4
	cell := func(name string, worked float64) lab.Cell {
		return lab.Cell{
			Name: configuration(m, k) + " Eq. 4, " + name, Paper: lab.None, Tolerance: lab.Within(worked / 50),
			Why: "worked by hand to two digits", Note: noteEquation4,
		}.Expect(worked)
	}
	value := func(n int) float64 { return math.Pow(atLeast(listed, n*k, 1.0/m), k) }
	return lab.Trial{
		Fixed: true,
		Cells: []lab.Cell{cell("n the keys", 3.5e-99), cell("n the insertions", 1.4e-10)},
		New: func(*rand.Rand) lab.Round {
			return func(_ *rand.Rand, out []float64) {
				out[0], out[1] = value(elements), value(20*elements)
			}
		},
	}
}
