package beyond

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

const (
	layoutKeys = 10_240 // n: set in a round, and as many others asked for
	layoutK    = 8
)

// layoutSizes are the sizes compared, in bits a key; each is whole lines.
var layoutSizes = []float64{8, 12, 16, 24, 40}

// arrangement is the place of a key's bits: in one line of 512 bits, in two lines or, in
// the classic filter (0 lines), anywhere.
type arrangement struct {
	name  string
	lines int
}

var arrangements = []arrangement{{"classic", 0}, {"two lines", 2}, {"one line", 1}}

// layout compares the error of the blocked layouts with that of the classic filter at
// equal memory. The difference is the price of one or two cache misses per lookup.
func layout() lab.Experiment {
	e := lab.Experiment{
		Name:    "layout",
		Title:   "bits a key against error: classic, two lines, one line, k=8",
		Source:  "beyond the papers; Putze, Sanders, Singler 2007, section 3, for the Poisson sum that is the reference",
		Figures: layoutFigures,
	}
	for _, size := range layoutSizes {
		e.Trials = append(e.Trials, layoutTrial(size))
	}
	e.Trials = append(e.Trials, layoutBitsFor(), layoutJoin())
	return e
}

// shape is a blocked arrangement's at a size.
func (a arrangement) shape(size float64) filter.BitsShape {
	return filter.BitsShape{Lines: uint64(size * layoutKeys / 512), K: layoutK, Span: a.lines}
}

// expected is the formula's error at a size.
func (a arrangement) expected(size float64) float64 {
	if a.lines == 0 {
		return papers.ClassicError(float64(a.shape(size).Size()), layoutKeys, layoutK)
	}
	return a.shape(size).Error(layoutKeys)
}

// layoutTrial has two cells for each arrangement: the error on the bits as they
// stand, and the share found of keys that were never set.
func layoutTrial(size float64) lab.Trial {
	t := lab.Trial{New: func(*rand.Rand) lab.Round { return layoutRound(size) }}
	for _, a := range arrangements {
		want := a.expected(size)
		// that there are some hundreds of lines, not many, makes their loads a little
		// more even than Poisson
		systematic := 3 / float64(a.shape(size).Lines) * want
		events := lab.Events(layoutKeys, want, 0)
		t.Cells = append(t.Cells,
			lab.Cell{
				Name:      fmt.Sprintf("%g bits a key, %s: error on the bits", size, a.name),
				Paper:     lab.None,
				Tolerance: lab.Plus(lab.StandardErrors, systematic),
				Why:       "4 standard errors, and 3/lines of the value: the formula is for many lines",
			}.Expect(want),
			lab.Cell{
				Name:  fmt.Sprintf("%g bits a key, %s: absent keys found", size, a.name),
				Paper: lab.None,
				Tolerance: lab.Plus(func(s lab.Summary) float64 {
					return max(lab.StandardErrors(s), events(s))
				}, systematic),
				Why: "4 standard errors of a count of rare events, and 3/lines of the value",
			}.Expect(want))
	}
	return t
}

// layoutRound sets the same keys in filters of all arrangements, and looks up the same
// other keys.
func layoutRound(size float64) lab.Round {
	var filters []bloom
	for _, a := range arrangements {
		filters = append(filters, a.filter(size))
	}
	return func(r *rand.Rand, out []float64) {
		for _, f := range filters {
			f.Reset()
		}
		for range layoutKeys {
			h := papers.DrawHash(r)
			for _, f := range filters {
				f.Set(h)
			}
		}
		for i, f := range filters {
			out[2*i], out[2*i+1] = f.Error(), 0
		}
		for range layoutKeys {
			h := papers.DrawHash(r)
			for i, f := range filters {
				if f.Has(h) {
					out[2*i+1] += 1.0 / layoutKeys
				}
			}
		}
	}
}

// bloom is a Bloom filter of any arrangement.
type bloom interface {
	Set(filter.Hash)
	Has(filter.Hash) bool
	Error() float64 // on the bits
	Reset()
	join(other bloom) // other is of the same arrangement and size
}

// filter makes an empty one.
func (a arrangement) filter(size float64) bloom {
	if a.lines == 0 {
		return &classic{Classic: lab.Must(papers.NewClassic(a.shape(size).Size(), layoutK))}
	}
	b := &blocked{shape: a.shape(size)}
	b.Reset()
	return b
}

// blocked is a filter of one or two lines a key.
type blocked struct {
	*filter.Bits
	shape filter.BitsShape
	cells []filter.Cell
}

// Reset takes an empty filter instead of the one that was filled.
func (b *blocked) Reset() { b.Bits = lab.Must(filter.NewBits(b.shape)) }

// join is the program's: of the other's bits, block by block.
func (b *blocked) join(other bloom) {
	bits := other.(*blocked).Bits
	for i := range filter.Blocks(b.shape.Size(), false) {
		b.cells = bits.Block(i, b.cells[:0])
		b.SetCells(b.cells)
	}
}

// classic takes its positions from the lanes of a hash.
type classic struct {
	*papers.Classic
	positions []uint64
}

func (c *classic) place(h filter.Hash) []uint64 {
	c.positions = papers.Positions(h, c.Size(), c.K(), c.positions[:0])
	return c.positions
}

func (c *classic) Set(h filter.Hash)      { c.Classic.Set(c.place(h)) }
func (c *classic) Has(h filter.Hash) bool { return c.Classic.Has(c.place(h)) }

func (c *classic) join(other bloom) {
	if err := c.Or(other.(*classic).Classic); err != nil {
		panic(err)
	}
}

// layoutTargets are errors, and the bits per key with which a classic filter and one line
// of eight 64-bit sections reach them. They were computed independently of this program, to
// a tenth of a bit.
var layoutTargets = []struct{ target, classic, oneLine float64 }{
	{1e-2, 9.7, 10.1}, {1e-3, 14.6, 15.7}, {1e-4, 21.0, 23.6}, {1e-6, 40.9, 51.9},
}

// layoutBitsFor computes the inverse: the bits per key for an error.
func layoutBitsFor() lab.Trial {
	t := lab.Trial{Fixed: true}
	for _, x := range layoutTargets {
		for _, a := range arrangements {
			c := lab.Cell{Name: fmt.Sprintf("error %g, %s: bits a key", x.target, a.name), Paper: lab.None}
			reference := map[int]float64{0: x.classic, 1: x.oneLine}[a.lines]
			if reference > 0 {
				c = c.Expect(reference)
				c.Tolerance, c.Why = lab.Within(0.05), "half a unit of the reference's last digit"
			} else {
				c.Note = "between the other two; there is no published value to compare it with"
			}
			t.Cells = append(t.Cells, c)
		}
	}
	t.New = func(*rand.Rand) lab.Round {
		return func(_ *rand.Rand, out []float64) {
			for i := range out {
				out[i] = arrangements[i%len(arrangements)].bitsFor(layoutTargets[i/len(arrangements)].target)
			}
		}
	}
	return t
}

// bitsFor is the bits a key at which a large filter has an error.
func (a arrangement) bitsFor(target float64) float64 {
	if a.lines == 0 { // Eq. 1 of Yan & Cho for large m, solved for m/n
		return -layoutK / math.Log1p(-math.Pow(target, 1.0/layoutK))
	}
	const n = 1e6
	return float64(filter.BitsShape{K: layoutK, Span: a.lines}.Fit(n, target).Size()) / n
}

func layoutFigures(rows []lab.Row) []lab.Figure {
	f := lab.Figure{
		Name:  "layout",
		Title: "error of a Bloom filter with k=8 by layout",
		X:     lab.Axis{Label: "bits a key"},
		Y:     lab.Axis{Label: "share of absent keys found", Log: true},
	}
	for i, a := range arrangements {
		formula := lab.Series{Name: a.name + ", formula", Theory: true}
		for size := layoutSizes[0]; size <= layoutSizes[len(layoutSizes)-1]; size++ {
			formula.Points = append(formula.Points, lab.Point{X: size, Y: a.expected(size)})
		}
		measured := lab.Series{Name: a.name}
		for j, size := range layoutSizes {
			row := rows[j*2*len(arrangements)+2*i]
			measured.Points = append(measured.Points, lab.Point{X: size, Y: row.Measured, Deviation: row.SD})
		}
		f.Series = append(f.Series, formula, measured)
	}
	return []lab.Figure{f}
}
