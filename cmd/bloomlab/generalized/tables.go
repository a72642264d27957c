package generalized

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

func (t table) experiment() lab.Experiment {
	e := lab.Experiment{
		Name:   fmt.Sprintf("generalized-table%d", t.number),
		Title:  fmt.Sprintf("error rates of the Bloom filter and the generalized one by %s", t.vary),
		Source: fmt.Sprintf("%ssection 5, Table %d; measured as in section 4", paper, t.number),
	}
	for _, r := range t.rows {
		e.Trials = append(e.Trials, t.computed(r))
	}
	for _, r := range t.rows {
		e.Trials = append(e.Trials, t.measured(r))
	}
	e.Figures = func(rows []lab.Row) []lab.Figure { return []lab.Figure{t.figure(rows)} }
	return e
}

// bloomFalsePositive is Eq. 2 of a Bloom filter that had the share p0 of zeros.
func bloomFalsePositive(r row) float64 {
	zeros := r.p0 * math.Exp(float64(r.k1*n)*math.Log1p(-1/float64(r.m)))
	return math.Pow(1-zeros, float64(r.k1))
}

// figures of a row by the paper's formulas, in the order of its columns.
func (r row) formulas() [5]float64 {
	s := r.shape()
	return [5]float64{
		bloomFalsePositive(r), s.falsePositive(n, r.p0), s.falseNegative(n),
		s.FalsePositiveBound(), s.falseNegativeBound(n),
	}
}

func (r row) printed() [5]float64 {
	return [5]float64{r.bloom, r.falsePositive, r.falseNegative, r.boundPositive, r.boundNegative}
}

var columns = [5]string{"BF f_p", "f_p", "f_n", "F_p", "F_n"}

const (
	whyDigit       = "half a unit of the last printed digit"
	noteTwice      = "Rounded twice, to two decimals first: %.3f -> %.2f -> %.1f."
	noteSimplified = "The printed value is that of Eq. 16, which uses k0 and k1 instead of b0 = m q0 and b1 = m q1; Eq. 8, which the text gives for f_p, yields %.2g."
)

// misprints are printed values that differ from any rounding of the formulas, by table and
// cell.
var misprints = map[string]struct {
	right float64
	note  string
}{
	"4 k1=1 f_p computed": {12.524, "Eq. 7 and 8: u = exp(-3*256/131072) = 0.99416, p = u/2 + (1-u)*2/3 = 0.50097, p^2 (1-p) = 0.1252. 12.6 is what Table 3 prints for half of m, from 12.549."},
	"4 k1=4 F_n computed": {3.068, "Eq. 22 to 24: u = exp(-6*256/131072) = 0.98835, 1 - (u + (1-u)/3)^2 (u + (1-u)*2/3)^4 = 0.0307."},
}

// computed has the row's columns by the formulas, compared with the printed
// values. Table 7 prints f_p by Eq. 16, so there both are shown.
func (t table) computed(r row) lab.Trial {
	trial := lab.Trial{Fixed: true}
	var values []float64
	add := func(name string, printed, value float64) {
		value *= t.unit()
		cell := lab.Cell{Name: t.name(r) + " " + name, Paper: printed, Tolerance: lab.Within(t.half(printed)), Why: whyDigit}
		twice := rounded(rounded(value, 2), 1)
		if wrong, ok := misprints[fmt.Sprintf("%d %s", t.number, cell.Name)]; ok {
			cell = cell.Expect(wrong.right)
			cell.Note = wrong.note
		} else if t.percent && rounded(value, 1) != printed && twice == printed {
			cell = cell.Expect(rounded(value, 3))
			cell.Note = fmt.Sprintf(noteTwice, value, rounded(value, 2), printed)
		}
		trial.Cells, values = append(trial.Cells, cell), append(values, value)
	}
	formulas, printed := r.formulas(), r.printed()
	for i, name := range columns {
		if t.number == 7 && i == 1 {
			add("f_p by Eq. 16", printed[i], r.shape().falsePositiveSimplified(n, r.p0))
			add("f_p by Eq. 8", printed[i], formulas[i])
			last := &trial.Cells[len(trial.Cells)-1]
			*last = last.Expect(equation8[r.m])
			last.Note = fmt.Sprintf(noteSimplified, equation8[r.m])
			last.Tolerance = lab.Within(t.half(equation8[r.m]))
			continue
		}
		add(name+" computed", printed[i], formulas[i])
	}
	trial.New = func(*rand.Rand) lab.Round { return func(_ *rand.Rand, out []float64) { copy(out, values) } }
	return trial
}

// equation8 is f_p of Table 7 by Eq. 8, by m.
var equation8 = map[uint64]float64{8192: 8.1e-8, 16384: 1.7e-14, 32768: 7.8e-28, 65536: 1.7e-54, 131072: 7.6e-108}

// half is half a unit of the last digit of a printed value, and a hair more for
// its own rounding.
func (t table) half(printed float64) float64 {
	if t.percent {
		return 0.05 + 1e-9
	}
	return 0.5001 * math.Pow(10, math.Floor(math.Log10(printed))-1)
}

func rounded(x float64, decimals int) float64 {
	scale := math.Pow(10, float64(decimals))
	return math.Floor(x*scale+0.5) / scale
}

// measurable is the least f_p that can be measured in rounds of some thousand keys.
const measurable = 1e-5

// measured has the row's rates as measured on filters: f_p of both, f_n, and how
// often a key is lost that was inserted before the n others, which is what F_n is.
func (t table) measured(r row) lab.Trial {
	queries := 5000
	if r.k0+r.k1 > papers.MaxK {
		queries = 1000
	}
	formulas, printed := r.formulas(), r.printed()
	formulas[4] = r.shape().falseNegativeAfter(n) // F_n without the approximation of Eq. 21
	tries := [5]float64{0: float64(queries), 1: float64(queries), 2: n, 4: 1}
	sim := simulation{row: r, queries: queries, positives: formulas[0] > measurable}
	trial := lab.Trial{}
	for i, name := range columns {
		if tries[i] == 0 || i < 2 && !sim.positives {
			continue
		}
		trial.Cells = append(trial.Cells, lab.Cell{
			Name: t.name(r) + " " + name + " measured", Paper: printed[i],
			Tolerance: lab.Share(tries[i], formulas[i], 0.01, t.unit()), Why: whyShare,
		}.Expect(t.unit()*formulas[i]))
	}
	trial.New = func(*rand.Rand) lab.Round {
		measure := sim.round()
		return func(r *rand.Rand, out []float64) {
			measure(r, out)
			for i := range out {
				out[i] *= t.unit()
			}
		}
	}
	return trial
}

// simulation is a round of section 4.
type simulation struct {
	row
	queries   int
	positives bool // f_p is large enough to be measured
}

// round returns a function that writes f_p of the Bloom filter and the
// generalized one, where measurable, then f_n, and 1 if the key before all was
// lost, else 0.
func (s simulation) round() func(r *rand.Rand, out []float64) {
	shape := s.shape()
	bloom := lab.Must(papers.NewClassic(s.m, min(s.k1, papers.MaxK)))
	keys := make([]uint64, n+1)
	buf := make([]uint64, 0, s.k0+s.k1)
	return func(r *rand.Rand, out []float64) {
		f := drawFunctions(r, s.m, s.k0+s.k1)
		g := shape.drawn(s.p0, r)
		initialize(bloom, s.p0, r)
		for i := range keys {
			keys[i] = inserted(r)
			positions := f.positions(keys[i], buf[:0])
			g.Insert(positions)
			if i > 0 {
				bloom.Set(positions[s.k0:])
			}
		}
		if s.positives {
			out[0], out[1] = 0, 0
			for range s.queries {
				positions := f.positions(asked(r), buf[:0])
				if bloom.Has(positions[s.k0:]) {
					out[0] += 1 / float64(s.queries)
				}
				if g.Has(positions) {
					out[1] += 1 / float64(s.queries)
				}
			}
			out = out[2:]
		}
		out[0], out[1] = 0, 0
		for i, x := range keys {
			if g.Has(f.positions(x, buf[:0])) {
				continue
			}
			if i == 0 {
				out[1] = 1
			} else {
				out[0] += 1.0 / n
			}
		}
	}
}

// initialize draws the initial condition of a Bloom filter.
func initialize(b *papers.Classic, p0 float64, r *rand.Rand) {
	b.Reset()
	for pos := range b.Size() {
		if r.Float64() >= p0 {
			b.SetBit(pos)
		}
	}
}
