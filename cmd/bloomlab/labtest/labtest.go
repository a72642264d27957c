// Package labtest runs experiments in tests and checks properties common to all.
package labtest

import (
	"math"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// Run runs an experiment and returns its rows. Each row is within its tolerance, each
// tolerance has a reason, and all points of the figures can be drawn.
func Run(t *testing.T, e lab.Experiment, o lab.Options) []lab.Row {
	t.Helper()
	t.Logf("%s: seed %d, %d rounds", e.Name, o.Seed, o.Rounds)
	rows, err := lab.Run(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !r.Within {
			t.Errorf("%s: %s: measured %v, want %v within %v", e.Name, r.Cell, r.Measured, r.Reference, r.Tolerance)
		}
		if !math.IsNaN(r.Tolerance) && r.Why == "" {
			t.Errorf("%s: %s: a tolerance without a reason", e.Name, r.Cell)
		}
	}
	if e.Figures != nil {
		checkFigures(t, e.Figures(rows))
	}
	return rows
}

// Measured checks that every row has a value. Do not use it for rare events: two rounds
// may have none.
func Measured(t *testing.T, rows []lab.Row) {
	t.Helper()
	for _, r := range rows {
		if math.IsNaN(r.Measured) {
			t.Errorf("%s: %s: nothing was measured", r.Experiment, r.Cell)
		}
	}
}

func checkFigures(t *testing.T, figures []lab.Figure) {
	t.Helper()
	for _, f := range figures {
		for _, s := range f.Series {
			if len(s.Points) == 0 {
				t.Errorf("%s: series %q has no points", f.Name, s.Name)
			}
			for _, p := range s.Points {
				if math.IsNaN(p.X) || math.IsNaN(p.Y) || p.X < 0 || p.Y < 0 {
					t.Errorf("%s: series %q has the point %+v", f.Name, s.Name, p)
				}
			}
		}
	}
}
