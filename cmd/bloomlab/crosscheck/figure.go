package crosscheck

import (
	"fmt"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// figure draws the rate of false positives against the memory, as the paper's Fig.
// 7 to 10 do, for its three structures: printed, measured, and by Eq. 3 and 31.
// Where none was met there is no point; the paper draws 1 instead.
func (t table) figure(rows []lab.Row) lab.Figure {
	measured := make(map[string]lab.Row)
	for _, row := range rows {
		measured[row.Cell] = row
	}
	f := lab.Figure{
		Name:  fmt.Sprintf("crosscheck-table%d", t.number),
		Title: fmt.Sprintf("False positives at the sizes of %s; printed: %s", t.name, t.hash),
		X:     lab.Axis{Label: "memory, KB"},
		Y:     lab.Axis{Label: "false positives a query", Log: true, Min: 1e-8, Max: 1},
	}
	queries := float64(t.queries)
	for parts, name := range []string{"single", "dual", "main-A-B"} {
		printed, ours, theory := lab.Series{Name: name + ", printed"}, lab.Series{Name: name}, lab.Series{Name: name + ", equation", Theory: true}
		for _, s := range t.rows {
			if len(s.multiples) != parts+1 {
				continue
			}
			x, row := t.bits(s)/(8*1024), measured[falsePositiveName(s.name())]
			printed.Points = append(printed.Points, lab.Point{X: x, Y: s.printed / queries})
			ours.Points = append(ours.Points, lab.Point{X: x, Y: row.Measured / queries, Deviation: row.SD / queries})
			theory.Points = append(theory.Points, lab.Point{X: x, Y: t.estimate(s).rate})
		}
		f.Series = append(f.Series, theory, ours, printed)
	}
	return f
}
