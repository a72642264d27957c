package reputation

import (
	"fmt"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// sweepFigures are both figures over the weeks and by the share of liars.
func sweepFigures(rows []lab.Row) []lab.Figure {
	measured := byName(rows)
	var all []lab.Figure
	for _, v := range []view{
		{"junk", "Wanted mail that goes to Junk", lab.Axis{Label: junk, Max: 16}},
		{"caught", "Spam that is caught", lab.Axis{Label: caught, Max: 80}},
	} {
		all = append(all, v.overTime(measured), v.byShare(measured))
	}
	return all
}

// view is one of the two figures of a world.
type view struct {
	name, title string
	y           lab.Axis
}

func (v view) overTime(measured map[string]float64) lab.Figure {
	f := lab.Figure{
		Name: "reputation-" + v.name + "-weeks", Title: v.title + ", week by week",
		X: lab.Axis{Label: "week (sleepers turn in week 3)"}, Y: v.y,
	}
	for _, share := range shares {
		if !weekly(share) {
			continue
		}
		for _, q := range quorums {
			s := lab.Series{Name: fmt.Sprintf("%s, quorum %g", lieName(share), q)}
			for week := range weeks {
				s.Points = append(s.Points, lab.Point{X: float64(week + 1), Y: measured[weekName(lieName(share), settled(q).name, week, v.y.Label)]})
			}
			f.Series = append(f.Series, s)
		}
	}
	return f
}

func (v view) byShare(measured map[string]float64) lab.Figure {
	f := lab.Figure{
		Name: "reputation-" + v.name, Title: v.title + ", by the share of liars",
		X: lab.Axis{Label: "reporters who lie, %"}, Y: v.y,
	}
	for _, q := range quorums {
		for _, way := range []settings{settled(q), equals(q)} {
			s := lab.Series{Name: way.name, Theory: way.name == equals(q).name}
			for _, share := range shares {
				s.Points = append(s.Points, lab.Point{X: 100 * share, Y: measured[cellName(lieName(share), way.name, v.y.Label)]})
			}
			f.Series = append(f.Series, s)
		}
	}
	return f
}
