// Package delta has the experiment on the size of a new signature in a delta of a
// spam filter: the program's code of lines beside other codes of the same bits, beside
// lists of digests, and beside the entropy (delta).
package delta

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// The filter of one generation at the program's defaults.
const (
	capacity = 2_000_000 // signatures
	target   = 1.25e-8   // chance that one not in it is found
)

// news are the numbers of new signatures of a delta; fills is the earlier fill of the filter,
// as a share of its capacity.
var (
	news  = []int{100, 1_000, 10_000, 100_000}
	fills = []fill{{"empty", 0}, {"a tenth full", 0.1}, {"half full", 0.5}, {"full", 1}}
)

type fill struct {
	name  string
	share float64
}

// layouts are the present layout of the spam filter and the previous one.
var layouts = []struct {
	name  string
	shape filter.BitsShape
}{
	{"one line", filter.BitsShape{K: 8, Span: 1}.Fit(capacity, target)},
	{"two lines", filter.BitsShape{K: 8, Span: 2}.Fit(capacity, target)},
}

// Experiments returns the only one.
func Experiments() []lab.Experiment {
	e := lab.Experiment{
		Name:    "delta",
		Title:   "bits a new signature takes in a delta of a spam filter, by code",
		Source:  "beyond the papers; Rice 1979 and Elias 1975 for the codes",
		Figures: figures,
	}
	for _, f := range fills {
		for _, n := range news {
			e.Trials = append(e.Trials, trial(f, n))
		}
	}
	return []lab.Experiment{e}
}

// trial has a delta of n new signatures. One round is enough, because a delta's length
// varies by less than a hundredth. Lists of digests and zstd are shown for the empty filter
// only, because they hardly depend on the filter.
func trial(f fill, n int) lab.Trial {
	t := lab.Trial{Fixed: true, New: func(*rand.Rand) lab.Round {
		return func(r *rand.Rand, out []float64) { round(r, f, n, out) }
	}}
	name := func(what string) string { return fmt.Sprintf("%s, %d new: %s", f.name, n, what) }
	for _, l := range layouts {
		entropy := entropy(l.shape, f.share*capacity, float64(n))
		tolerance := 0.05 + 0.15*float64(n*span(l.shape))/float64(l.shape.Lines)
		t.Cells = append(t.Cells,
			lab.Cell{Name: name("lines, " + l.name), Paper: lab.None, Tolerance: lab.Within(tolerance * entropy),
				Why: "5 % of the entropy, which is the reference, for whole bits of gaps and forms; 15 % of it for each new key in a line, as numbers above one are long"}.Expect(entropy))
	}
	for _, c := range codes {
		t.Cells = append(t.Cells, lab.Cell{Name: name(c.name), Paper: lab.None, Note: c.note})
	}
	if f.share == 0 {
		sorted := 64 - math.Log2(float64(n)) + math.Log2E
		t.Cells = append(t.Cells,
			lab.Cell{Name: name("zstd of the bitmap"), Paper: lab.None},
			lab.Cell{Name: name("digests of 64 bits, sorted"), Paper: lab.None, Tolerance: lab.Within(0.03 * sorted),
				Why: "3 % of the entropy of a set of digests, 64 - log2(n) + log2(e)"}.Expect(sorted),
			lab.Cell{Name: name("digests of 128 bits"), Paper: lab.None})
	}
	return t
}

func round(r *rand.Rand, f fill, n int, out []float64) {
	per := func(bits float64) (each float64) { return bits / float64(n) }
	one := newBits(r, layouts[0].shape, f.share*capacity, n)
	two := newBits(r, layouts[1].shape, f.share*capacity, n)
	out[0] = per(8 * float64(len(coded.AppendLines(nil, layouts[0].shape, one))))
	out[1] = per(8 * float64(len(coded.AppendLines(nil, layouts[1].shape, two))))
	at := 2
	for _, c := range codes {
		out[at] = per(c.bits(one))
		at++
	}
	if f.share == 0 {
		out[at] = per(zstdBits(one, layouts[0].shape.Size()))
		out[at+1] = per(sortedDigestBits(r, n))
		out[at+2] = 128
	}
}

// figures draw the empty filter.
func figures(rows []lab.Row) []lab.Figure {
	f := lab.Figure{
		Name: "delta", Title: "a new signature in a delta of an empty spam filter",
		X: lab.Axis{Label: "new signatures in the delta", Log: true},
		Y: lab.Axis{Label: "bits each"},
	}
	width := len(trial(fills[0], 1).Cells)
	entropy := lab.Series{Name: "entropy", Theory: true}
	for j, n := range news {
		entropy.Points = append(entropy.Points, lab.Point{X: float64(n), Y: rows[j*width].Reference})
	}
	f.Series = append(f.Series, entropy)
	for i := range width {
		var s lab.Series
		for j, n := range news {
			row := rows[j*width+i]
			s.Name = row.Cell[len(fmt.Sprintf("%s, %d new: ", fills[0].name, n)):]
			s.Points = append(s.Points, lab.Point{X: float64(n), Y: row.Measured})
		}
		f.Series = append(f.Series, s)
	}
	return []lab.Figure{f}
}
