package federation

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

const (
	threshold = 20     // sightings from which on a message is bulk
	absent    = 20_000 // unseen messages that are looked up
	present   = 5_000  // of the day
)

const noteFold = "fold: each cell is the sum over the folded sites; for a site with fewer lines, the largest cell that may correspond. " +
	"The error is one-sided, but a line of a small filter then counts in every line to which it may correspond. Folding " +
	"requires filters of one size"

const noteApart = "a site counts a message that it has not seen with a chance of E[(1-(31/32)^x)^4], where x is a Poisson number of keys " +
	"in a line; over 100 sites that are sized separately, these chances add up"

// rows are a geometry's: memory, absent messages, folds.
func (g geometry) rows(scale float64) []lab.Cell {
	cells := []lab.Cell{
		shown(g.name+": all parts / one filter of the union", ""),
		shown(g.name+": all parts, beside the code / one filter of the union", ""),
		g.absentRow(scale),
	}
	for _, n := range g.folded {
		name := fmt.Sprintf("%s, %d sites folded: ", g.name, n)
		cells = append(cells,
			shown(name+"messages counted too high", noteFold),
			shown(name+"by, on the mean of these", ""),
			shown(name+"seen 10 to 19 times, shown 20 or more", ""),
			never(name+"counted too low"))
		if g.oneSize() {
			cells = append(cells, shown(name+"all parts / one filter of the union", ""))
		}
	}
	return cells
}

// absentRow is compared with the equation.
func (g geometry) absentRow(scale float64) lab.Cell {
	want := g.absent(scale)
	return lab.Cell{
		Name: g.name + ": sites that count an absent message", Paper: lab.None, Note: noteApart,
		Tolerance: lab.Plus(lab.Events(absent, want, 0), 8e-5*scale*want),
		Why:       "4 standard errors of a count of events, and 4 % for whole lines and for the sites' numbers of keys, which vary",
	}.Expect(want)
}

// absent returns the sum over the sites of the chance that an unseen message is counted.
func (g geometry) absent(scale float64) float64 {
	sum := 0.0
	for rank := 1; rank <= sites; rank++ {
		keys := daysKeys(daily/scale, share(rank))
		sum += falseCount(keys, g.shape(keys, daily/scale/meanCount()))
	}
	return sum
}

// falseCount is E[(1-(31/32)^x)^4] for a Poisson number x of keys in a line.
func falseCount(keys float64, s filter.CountsShape) float64 {
	load := keys / float64(s.Lines)
	sum, p := 0.0, math.Exp(-load)
	for x := 1; x < int(load+12*math.Sqrt(load))+20; x++ {
		p *= load / float64(x)
		sum += p * math.Pow(-math.Expm1(float64(x)*math.Log1p(-1.0/32)), 4)
	}
	return sum
}

// fill writes the rows of a geometry and returns their number.
func (c *counted) fill(r *rand.Rand, d *day, g geometry, m memory, out []float64) int {
	out[0], out[1], out[2] = m.parts.all/m.union, m.parts.beside/m.union, 0
	for range absent {
		h := papers.DrawHash(r)
		for _, site := range c.site {
			if site.Count(h) > 0 {
				out[2] += 1.0 / absent
			}
		}
	}
	some, middle := d.samples(r)
	at := 3
	for _, n := range g.folded {
		f := c.fold(n)
		f.fill(d, some, middle, out[at:])
		at += 4
		if g.oneSize() {
			out[at] = (partsOf(f.apart).all + f.bytes()) / m.union
			at++
		}
	}
	return at
}

// fill writes the rows of a fold, of messages of the day of any kind and of those that
// were seen 10 to 19 times.
func (f fold) fill(d *day, some, middle []int, out []float64) {
	high, by, low, crossed := 0, 0, 0, 0
	for _, m := range some {
		switch off := f.count(d.hashes[m]) - d.truth[m]; {
		case off > 0:
			high, by = high+1, by+off
		case off < 0:
			low++
		}
	}
	for _, m := range middle {
		if f.count(d.hashes[m]) >= threshold {
			crossed++
		}
	}
	out[0], out[2] = float64(high)/float64(len(some)), float64(crossed)/float64(len(middle))
	if high > 0 {
		out[1] = float64(by) / float64(high)
	}
	out[3] = float64(low) / float64(len(some))
}

// samples are messages of the day: some of all, and those seen 10 to 19 times.
func (d *day) samples(r *rand.Rand) (some, middle []int) {
	for range present {
		some = append(some, r.IntN(len(d.truth)))
	}
	for m, n := range d.truth {
		if n >= 10 && n < threshold && len(middle) < present {
			middle = append(middle, m)
		}
	}
	return some, middle
}

// fold has some separate sites, and the others as one filter. That filter has the lines
// for the keys of all of them, or the lines common to all.
type fold struct {
	apart, folded []*filter.Counts
	lines         uint64
}

func (c *counted) fold(n int) fold {
	f := fold{apart: c.site[:sites-n], folded: c.site[sites-n:]}
	for _, site := range f.folded {
		f.lines += site.Shape().Lines
	}
	if n > 0 && f.folded[0].Shape() == f.folded[n-1].Shape() {
		f.lines = f.folded[0].Shape().Lines
	}
	return f
}

// count returns the sum over the separate sites and the least of the folded filter's cells.
func (f fold) count(h filter.Hash) int {
	sum := 0
	for _, site := range f.apart {
		sum += int(site.Count(h))
	}
	if len(f.folded) == 0 {
		return sum
	}
	line, _ := bits.Mul64(h[0], f.lines)
	var cells [4]int
	for _, site := range f.folded {
		own := site.Shape()
		first, last := overlap(line, f.lines, own.Lines)
		within := own.Positions(filter.Hash{0, h[1]}) // in line 0
		for j, offset := range within {
			most := uint32(0)
			for l := first; l <= last; l++ {
				most = max(most, site.Cell(l*lineCells+offset))
			}
			cells[j] += int(most)
		}
	}
	return sum + slices.Min(cells[:])
}

// bytes is the memory of the folded filter as a part, where all are of one size.
func (f fold) bytes() float64 {
	if len(f.folded) == 0 {
		return 0
	}
	size := f.folded[0].Shape().Size()
	part := coded.NewPart(size, true)
	var cells []filter.Cell
	for i := range filter.Blocks(size, true) {
		sums := make(map[uint64]uint32)
		for _, site := range f.folded {
			for _, c := range site.Block(i, cells[:0]) {
				sums[c.Pos] += c.Value
			}
		}
		var sum []filter.Cell
		for pos, v := range sums {
			sum = append(sum, filter.Cell{Pos: pos, Value: min(v, filter.MaxValue)})
		}
		lab.Check(part.Merge(sorted(sum)))
	}
	return float64(part.Bytes())
}

// lineCells is the number of cells of a line of filter.Counts.
const lineCells = 128

// overlap returns the first and the last of n lines that a key in a given line of m can
// have: both are the same part of the range of the key's lane.
func overlap(line, m, n uint64) (first, last uint64) {
	return line * n / m, ((line+1)*n - 1) / m
}
