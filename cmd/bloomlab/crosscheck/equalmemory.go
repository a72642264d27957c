package crosscheck

import (
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// layout is one way to use 16 bits a key: bits a key of the main filter, if there
// is one, and of the filters of the classes, which have equal shares of the keys.
type layout struct {
	name                 string
	main, classes, class int
}

var layouts = []layout{
	{name: "one filter", main: 16},
	{name: "main and 2 classes", main: 8, classes: 2, class: 8},
	{name: "main and 4 classes", main: 8, classes: 4, class: 8},
	{name: "2 classes, no main", classes: 2, class: 16},
	{name: "4 classes, no main", classes: 4, class: 16},
}

const (
	equalMemory     = "equal memory, 16 bits a key: "
	noteEqualMemory = "not in the paper, which compares its multi-BF rows with single filters of broken hashing; with sound hashing, C classes have C times the false positives of one filter"
)

// shares cuts n keys into the classes.
func (l layout) shares(n int) []int {
	shares := make([]int, l.classes)
	for i := range shares {
		shares[i] = n*(i+1)/l.classes - n*i/l.classes
	}
	return shares
}

// estimate is what the equations have for n keys.
func (l layout) estimate(n int) estimate {
	of := func(keys, multiple int) estimate {
		return oneFilter(float64(keys*multiple), float64(keys), hashes(multiple))
	}
	if l.classes == 0 {
		return of(n, l.main)
	}
	main := estimate{rate: 1}
	if l.main > 0 {
		main = of(n, l.main)
	}
	var classes []estimate
	for _, share := range l.shares(n) {
		classes = append(classes, of(share, l.class))
	}
	return crossed(main, classes)
}

// round makes the simulation of a layout: random keys, and the number of false
// positives among the queries.
func (l layout) round(n, queries int) func(r *rand.Rand) float64 {
	b := &bank{queries: queries}
	add := func(keys, multiple int) *papers.Classic {
		c := lab.Must(papers.NewClassic(uint64(keys*multiple), hashes(multiple)))
		b.filters = append(b.filters, keyed{Classic: c, keys: keys})
		return c
	}
	var classes []*papers.Classic
	for _, share := range l.shares(n) {
		classes = append(classes, add(share, l.class))
	}
	if l.main == 0 {
		return func(r *rand.Rand) float64 {
			b.fill(r)
			return float64(foundInAny(classes, queries, r))
		}
	}
	c := check{}
	first := add(n, l.main)
	if len(classes) > 0 {
		c.cross = lab.Must(papers.NewCrossCheck(first, classes...))
	}
	b.check(first, c)
	return func(r *rand.Rand) float64 {
		var out [1]float64
		b.fill(r)
		b.query(r, out[:])
		return out[0]
	}
}

// foundInAny is how many of the queries at least one filter finds. A key that one
// filter has found is not asked for in the others.
func foundInAny(filters []*papers.Classic, queries int, r *rand.Rand) int {
	left := queries
	for _, f := range filters {
		left -= countPositives(f, left, r)
	}
	return queries - left
}

func countPositives(f *papers.Classic, queries int, r *rand.Rand) int {
	n := 0
	positives(f, queries, r, func([]uint64) { n++ })
	return n
}

// equalMemoryTrial simulates all layouts, and how often a member's label has a
// class too many.
func (t table) equalMemoryTrial() lab.Trial {
	n := t.keys(all)
	var cells []lab.Cell
	for _, l := range layouts {
		cells = append(cells, falsePositiveCell(equalMemory+l.name, lab.None, l.estimate(n), t.queries, noteEqualMemory))
	}
	return lab.Trial{Cells: append(cells, t.labelCell()), New: func(*rand.Rand) lab.Round {
		var rounds []func(*rand.Rand) float64
		for _, l := range layouts {
			rounds = append(rounds, l.round(n, t.queries))
		}
		other := lab.Must(papers.NewClassic(t.size(classB, 8), hashes(8)))
		return func(r *rand.Rand, out []float64) {
			for i, round := range rounds {
				out[i] = round(r)
			}
			fillFilter(other, t.b, r)
			out[len(rounds)] = float64(countPositives(other, t.a, r)) / float64(t.a)
		}
	}}
}

// labelCell is the share of the members of A that the filter of B has too: f_B.
func (t table) labelCell() lab.Cell {
	f := papers.ClassicError(float64(t.size(classB, 8)), float64(t.b), hashes(8))
	return lab.Cell{
		Name: "main-A-B 8-8-8: members of A with the label B too, share", Paper: lab.None,
		Tolerance: lab.Events(float64(t.a), f, 0),
		Why:       "against f_B of Eq. 33: 4 standard errors of a Poisson number",
		Note:      "not in the paper, which gives no error for the class of a key",
	}.Expect(f)
}

// equalMemoryRatios are the false positives of each layout to those of one filter.
func (t table) equalMemoryRatios(rows []lab.Row) []lab.Derived {
	var one lab.Row
	var derived []lab.Derived
	for _, row := range rows {
		for i, l := range layouts {
			if row.Cell != falsePositiveName(equalMemory+l.name) {
				continue
			}
			if i == 0 {
				one = row
				continue
			}
			derived = append(derived, t.ratio(l, row, one))
		}
	}
	return derived
}

// ratio is the row of a layout's false positives to those of one filter. Their
// relative variances add up.
func (t table) ratio(l layout, row, one lab.Row) lab.Derived {
	x, y := l.estimate(t.keys(all)), layouts[0].estimate(t.keys(all))
	queries := float64(t.queries)
	expected := x.rate / y.rate
	deviation := expected * math.Sqrt(1/(x.rate*queries)+x.spread+1/(y.rate*queries)+y.spread)
	cell := lab.Cell{
		Name: equalMemory + l.name + " / one filter", Paper: lab.None, Note: noteEqualMemory,
		Tolerance: func(s lab.Summary) float64 { return lab.Sigmas * deviation / math.Sqrt(float64(s.Rounds)) },
		Why:       "against Eq. 31 / Eq. 3: 4 standard errors, of Poisson numbers and the fillings",
	}
	mean := row.Measured / one.Measured
	return lab.Derived{Cell: cell.Expect(expected), Summary: lab.Summary{
		Mean: mean, SD: mean * math.Hypot(row.SD/row.Measured, one.SD/one.Measured), Rounds: min(row.Rounds, one.Rounds),
	}}
}
