package retouched

import "github.com/spambloom/spambloom/cmd/bloomlab/lab"

// figures draws what the rows of all variants at all betas measured: first the
// paper's figure, with the computed values as lines, then the other ways to count.
func figures(name, title string, y lab.Axis, rows []lab.Row, of func(outcome) float64) []lab.Figure {
	x := lab.Axis{Label: "beta, % of the false positives"}
	measured := func(variant int) lab.Series {
		s := lab.Series{Name: variants[variant].name}
		for i, beta := range betas {
			row := rows[variant*len(betas)+i]
			s.Points = append(s.Points, lab.Point{X: 100 * beta, Y: row.Measured, Deviation: row.SD})
		}
		return s
	}
	computed := func(variant int) lab.Series {
		s := lab.Series{Name: variants[variant].name + " (computed)", Theory: true}
		for i, o := range expected()[variant] {
			s.Points = append(s.Points, lab.Point{X: 100 * betas[i], Y: of(o)})
		}
		return s
	}
	paper := lab.Figure{Name: name, Title: title, X: x, Y: y}
	for v := range 4 {
		paper.Series = append(paper.Series, computed(v), measured(v))
	}
	counts := lab.Figure{Name: name + "-counts", Title: title + ": what v_B counts", X: x, Y: y}
	for v := 2; v < len(variants); v++ {
		counts.Series = append(counts.Series, measured(v))
	}
	return []lab.Figure{paper, counts}
}
