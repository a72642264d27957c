package iterative

import (
	"fmt"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// columns takes rows that repeat in the order of names, one group for each x, and
// makes a series for each name.
func columns(rows []lab.Row, xs []float64, names []string) []lab.Series {
	series := make([]lab.Series, len(names))
	for i, name := range names {
		series[i].Name = name
		for j, x := range xs {
			row := rows[j*len(names)+i]
			series[i].Points = append(series[i].Points, lab.Point{X: x, Y: row.Measured, Deviation: row.SD})
		}
	}
	return series
}

// curve is a computed line through so many points.
func curve(name string, from, to float64, f func(x float64) float64) lab.Series {
	const points = 60
	s := lab.Series{Name: name, Theory: true}
	for i := range points + 1 {
		x := from + (to-from)*float64(i)/points
		s.Points = append(s.Points, lab.Point{X: x, Y: f(x)})
	}
	return s
}

func figureByAlpha(rows []lab.Row) lab.Figure {
	var xs []float64
	for i := 1; i <= 10; i++ {
		xs = append(xs, float64(i)/10)
	}
	names := []string{"BF", "IBF case 1", "IBF case 2", "IBF case 3", "CBF case 1", "CBF case 2", "CBF case 3"}
	series := append(columns(rows, xs, names),
		curve("IBF, Eq. 10", 0.1, 1, func(alpha float64) float64 { return equation10(alpha*inputs, inputs) }),
		curve("BF and CBF, Eq. 4 and 11 as printed", 0.1, 1, func(float64) float64 { return bloomCell("", inputs, inputs).Paper }))
	return lab.Figure{
		Name: "iterative-fig5", Title: fmt.Sprintf("False positives by the share of distinct inputs (k=%d, n=%d, m=%d)", k, inputs, size),
		X: lab.Axis{Label: "alpha", Min: 0, Max: 1}, Y: lab.Axis{Label: "false positives", Log: true},
		Series: series,
	}
}

func figureByInputs(rows []lab.Row) lab.Figure {
	var xs []float64
	for _, factor := range loadFactors {
		xs = append(xs, factor*inputs)
	}
	series := append(columns(rows, xs, []string{"BF", "IBF", "CBF case 1", "CBF case 2", "CBF case 3"}),
		curve("IBF, Eq. 10", xs[0], xs[len(xs)-1], func(n float64) float64 { return equation10(n/2, n) }),
		curve("BF, (1-exp(-k alpha n/m))^k", xs[0], xs[len(xs)-1], func(n float64) float64 { return papers.ClassicError(float64(size), n/2, k) }))
	return lab.Figure{
		Name: "iterative-fig6", Title: fmt.Sprintf("False positives by the number of inputs (alpha=1/2, k=%d, m=%d)", k, size),
		X: lab.Axis{Label: "n"}, Y: lab.Axis{Label: "false positives", Log: true},
		Series: series,
	}
}

// figureOfEstimates shows the heavy key of case 3 only.
func figureOfEstimates(rows []lab.Row) lab.Figure {
	byPaper, corrected := lab.Series{Name: "Eq. 9"}, lab.Series{Name: "corrected"}
	for i, alpha := range []float64{0.9, 0.7, 0.5, 0.3} {
		at := i*9 + 3 // three rows of case 2, six of case 3
		byPaper.Points = append(byPaper.Points, lab.Point{X: alpha, Y: rows[at+1].Measured, Deviation: rows[at+1].SD})
		corrected.Points = append(corrected.Points, lab.Point{X: alpha, Y: rows[at+2].Measured, Deviation: rows[at+2].SD})
	}
	return lab.Figure{
		Name: "iterative-estimate", Title: "Estimated over true count of the heavy key (case 3)",
		X: lab.Axis{Label: "alpha", Min: 0.2, Max: 1}, Y: lab.Axis{Label: "estimated / true", Min: 0.9, Max: 1.15},
		Series: []lab.Series{byPaper, corrected},
	}
}
