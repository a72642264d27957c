package beyond

import (
	"math"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/labtest"
)

func TestLayout(t *testing.T) {
	e := layout()
	rows := labtest.Run(t, e, lab.Options{Rounds: 5, Seed: 4})
	for _, r := range rows {
		if math.IsNaN(r.Tolerance) && r.Note == "" {
			t.Errorf("%s: held against nothing, and no note", r.Cell)
		}
	}
	for i := 0; i < len(layoutSizes)*6; i += 6 {
		if c, two, one := rows[i].Measured, rows[i+2].Measured, rows[i+4].Measured; !(c < two && two < one) {
			t.Errorf("%s: classic %v, two lines %v, one line %v", rows[i].Cell, c, two, one)
		}
	}
	f := e.Figures(rows)[0]
	if len(f.Series) != 6 || len(f.Series[1].Points) != len(layoutSizes) || f.Series[1].Points[2].Y != rows[12].Measured {
		t.Errorf("figure %+v", f)
	}
}

// The references are what the formulas were known to give before this program:
// at 16 bits a key and k=8.
func TestLayoutReferences(t *testing.T) {
	for i, want := range []float64{5.75e-4, 6.40e-4, 9.09e-4} {
		if got := arrangements[i].expected(16); math.Abs(got-want) > 0.005*want {
			t.Errorf("%s: %v, want %v", arrangements[i].name, got, want)
		}
	}
}

// So are those of the join, for the classic filter; a join of one is the filter.
func TestJoinReferences(t *testing.T) {
	for i, want := range []float64{5.7e-4, 2.5e-2, 0.31, 0.86} {
		if got := arrangements[0].joined(joinSites[i]); math.Abs(got-want) > 0.02*want {
			t.Errorf("%d filters: %v, want %v", joinSites[i], got, want)
		}
	}
	for _, a := range arrangements {
		if got, want := a.joined(1), a.expected(joinSize); got != want {
			t.Errorf("%s: one filter %v, want %v", a.name, got, want)
		}
	}
}
