package yancho

import (
	"fmt"
	"math"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// figures are the appendix' Fig. 3 to 10: both extensions' rates by the size of
// the filter, a line for each k, on a log scale. Bars are the standard errors of
// the means.
func (s simulation) figures(rows []lab.Row) []lab.Figure {
	byName := named(rows)
	f := lab.Figure{
		Name:  fmt.Sprintf("yancho-exp%d", s.number),
		Title: fmt.Sprintf("Experiment %d (paper: Fig. %d): %s", s.number, s.figure, s.title),
		X:     lab.Axis{Label: "filter size m, cells", Log: true},
		Y:     lab.Axis{Label: "false positive rate", Log: true},
	}
	for _, extension := range []string{"intuitive", "refined"} {
		for i, k := range hashes {
			measured := lab.Series{Name: fmt.Sprintf("%s, k=%d", extension, k)}
			printed := lab.Series{Name: measured.Name + ", printed", Theory: true}
			for _, r := range s.rates {
				row := byName[configuration(r.m, k)+" "+extension]
				measured.Points = append(measured.Points, lab.Point{
					X: float64(r.m), Y: row.Measured, Deviation: row.SD / math.Sqrt(float64(row.Rounds)),
				})
				value := r.intuitive[i]
				if extension == "refined" {
					value = r.refined[i]
				}
				printed.Points = append(printed.Points, lab.Point{X: float64(r.m), Y: value})
			}
			f.Series = append(f.Series, measured, printed)
		}
	}
	return []lab.Figure{f}
}
