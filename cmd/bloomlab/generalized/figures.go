package generalized

import (
	"fmt"
	"math"
	"strings"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// find is the row of a cell; every name that is asked for is a cell's.
func find(rows []lab.Row, name string) (lab.Row, bool) {
	for _, row := range rows {
		if row.Cell == name {
			return row, true
		}
	}
	return lab.Row{}, false
}

// figure has the measured rates as points, the formulas as lines, like the
// paper's figures 7 to 11.
func (t table) figure(rows []lab.Row) lab.Figure {
	f := lab.Figure{
		Name:  fmt.Sprintf("generalized-table%d", t.number),
		Title: fmt.Sprintf("Table %d: error rates by %s (n=%d)", t.number, t.vary, n),
		X:     lab.Axis{Label: t.vary, Log: t.vary == "m"},
		Y:     lab.Axis{Label: "rate", Log: !t.percent},
	}
	if t.percent {
		f.Y.Label = "rate, %"
	}
	for i, column := range []string{"BF f_p", "f_p", "f_n", "", "F_n"} {
		measured := lab.Series{Name: strings.TrimPrefix(column+", measured", ", ")}
		for _, r := range t.rows {
			if row, ok := find(rows, t.name(r)+" "+column+" measured"); ok {
				measured.Points = append(measured.Points, lab.Point{X: r.x, Y: row.Measured})
			}
		}
		if len(measured.Points) == 0 {
			continue
		}
		computed := lab.Series{Name: column + ", formula", Theory: true}
		for _, x := range t.grid() {
			computed.Points = append(computed.Points, lab.Point{X: x, Y: t.unit() * t.at(x).formulas()[i]})
		}
		f.Series = append(f.Series, measured, computed)
	}
	return f
}

// grid are the x at which lines are computed.
func (t table) grid() []float64 {
	first, last := t.rows[0].x, t.rows[len(t.rows)-1].x
	var xs []float64
	switch t.vary {
	case "k1":
		for x := first; x <= last; x++ {
			xs = append(xs, x)
		}
	case "m":
		for i := range 17 {
			xs = append(xs, math.Round(first*math.Pow(last/first, float64(i)/16)))
		}
	default:
		for i := range 41 {
			xs = append(xs, first+(last-first)*float64(i)/40)
		}
	}
	return xs
}

// attackFigure shows how many of the keys for which bits were made are found, and
// how many of those for which F_p is a bound.
func attackFigure(rows []lab.Row) lab.Figure {
	chosen, others := lab.Series{Name: "keys for which the bits were made"}, lab.Series{Name: "other keys"}
	bound := lab.Series{Name: "F_p, Eq. 19", Theory: true}
	for _, k := range craftedK {
		name := fmt.Sprintf("crafted GBF %d+%d: ", k, k)
		if row, ok := find(rows, name+"chosen keys found"); ok {
			chosen.Points = append(chosen.Points, lab.Point{X: float64(k), Y: row.Measured, Deviation: row.SD})
			bound.Points = append(bound.Points, lab.Point{X: float64(k), Y: row.Paper})
		}
		if row, ok := find(rows, name+"other keys found"); ok {
			others.Points = append(others.Points, lab.Point{X: float64(k), Y: row.Measured, Deviation: row.SD})
		}
	}
	return lab.Figure{
		Name: "generalized-attack", Title: fmt.Sprintf("A crafted filter of %d bits, %d keys chosen", attackBits, targets),
		X: lab.Axis{Label: "k0 = k1"}, Y: lab.Axis{Label: "share found", Log: true},
		Series: []lab.Series{chosen, others, bound},
	}
}
