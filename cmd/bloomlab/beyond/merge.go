package beyond

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/yancho"
)

// mergeKeys and the rest are the federation's: 8 cells a key, k=4, 10 exchanges.
const mergeKeys = 500

// merged are shares of keys that an earlier simulation of 20,000 keys, of its own,
// found in five rounds; NaN where it has none.
type merged struct{ sumOfMin, minOfSum, over, under float64 }

var mergedAt = []struct {
	sites int
	merged
}{
	{1, merged{0.0063, 0.0063, 0.0063, 0}},
	{2, merged{0.0045, 0.0070, 0.0062, 0.0079}},
	{4, merged{0.0016, 0.0125, 0.0061, 0.0133}},
	{8, merged{0.00048, 0.0173, 0.0061, 0.0165}},
	{16, merged{lab.None, lab.None, lab.None, lab.None}},
}

// merge compares three methods to merge the refined counting filters of several sites, by
// the keys counted too high and too low.
func merge() lab.Experiment {
	e := lab.Experiment{
		Name:    "merge",
		Title:   "keys miscounted by min of sum, sum of min and the printed merge, 1 to 16 sites",
		Source:  "beyond the papers; the printed merge is Yan & Cho 2006, section IV",
		Figures: mergeFigures,
	}
	for _, c := range mergedAt {
		never := func(what string) lab.Cell {
			return mergeCell(c.sites, what, 0, lab.Within(0), "never, in any round")
		}
		e.Trials = append(e.Trials, lab.Trial{
			Cells: []lab.Cell{
				near(c.sites, "sum of min, over", c.sumOfMin),
				near(c.sites, "min of sum, over", c.minOfSum),
				near(c.sites, "printed merge, over", c.over),
				near(c.sites, "printed merge, under", c.under),
				never("sum of min, under"),
				never("min of sum, under"),
			},
			New: func(*rand.Rand) lab.Round {
				f := yancho.NewFederation(c.sites, 10, mergeKeys, 8, 4)
				return func(r *rand.Rand, out []float64) {
					all := f.Round(r)
					printed := all[yancho.Printed]
					out[0], out[1] = all[yancho.SumOfMin].Over, all[yancho.MinOfSum].Over
					out[2], out[3] = printed.Over, printed.Under
					out[4], out[5] = all[yancho.SumOfMin].Under, all[yancho.MinOfSum].Under
				}
			},
		})
	}
	return e
}

func mergeCell(sites int, what string, reference float64, tolerance func(lab.Summary) float64, why string) lab.Cell {
	return lab.Cell{Name: fmt.Sprintf("sites=%d %s", sites, what), Paper: lab.None, Tolerance: tolerance, Why: why}.Expect(reference)
}

func near(sites int, what string, reference float64) lab.Cell {
	if math.IsNaN(reference) {
		return lab.Cell{Name: fmt.Sprintf("sites=%d %s", sites, what), Paper: lab.None}
	}
	if reference == 0 {
		return mergeCell(sites, what, 0, lab.Within(0), "never, in any round")
	}
	return mergeCell(sites, what, reference, lab.Plus(lab.Events(mergeKeys/3, reference, 0), 0.2*reference),
		"4 standard errors for keys that err in groups of three, and 20 % for the reference's own rounds")
}

func mergeFigures(rows []lab.Row) []lab.Figure {
	f := lab.Figure{
		Name:  "merge",
		Title: "Keys miscounted after merging refined filters: 8 cells a key, k=4, 10 exchanges",
		X:     lab.Axis{Label: "sites", Log: true},
		Y:     lab.Axis{Label: "share of the keys", Log: true},
	}
	for _, what := range []string{"sum of min, over", "min of sum, over", "printed merge, over", "printed merge, under"} {
		s := lab.Series{Name: what}
		for _, c := range mergedAt {
			for _, row := range rows {
				if row.Cell == fmt.Sprintf("sites=%d %s", c.sites, what) {
					s.Points = append(s.Points, lab.Point{
						X: float64(c.sites), Y: row.Measured, Deviation: row.SD / math.Sqrt(float64(row.Rounds)),
					})
				}
			}
		}
		f.Series = append(f.Series, s)
	}
	return []lab.Figure{f}
}
