// Package federation simulates a federation of 100 sites that take 200 million
// messages a day: the bytes that go through Redis (traffic, snapshots), what a
// receiver holds of all others (memory), how late it knows (lag), and what it costs
// to fold far sites' counts into one filter (fold).
//
// The filters and the codes are those of bloomdb/filter, the sizes those of package
// bloomdb. What travels is drawn at full size, an interval at a time; what is held
// is drawn one to five hundred. The package owns the assumptions about the mail and
// the equations that the simulation is held against.
package federation

import (
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// Experiments is the one experiment.
func Experiments() []lab.Experiment {
	return []lab.Experiment{{
		Name:  "federation",
		Title: "100 sites, 200 million messages a day: traffic, memory, lag, folding",
		Source: "beyond the papers; refined counting and its merge are Yan & Cho 2006, section IV; " +
			"Rice's code at geometric gaps: Kiely 2004",
		Trials:  trials(),
		Derived: totals,
	}}
}

func trials() []lab.Trial {
	var all []lab.Trial
	for _, seconds := range intervals {
		all = append(all, countTraffic(seconds))
	}
	return append(all, reportTraffic(), sizes(), snapshots(), held(scale), lateReports(), lateCounts())
}

// shown is a cell that is held against nothing.
func shown(name, note string) lab.Cell { return lab.Cell{Name: name, Paper: lab.None, Note: note} }

// near is a cell that is held against an equation: four standard errors, and a share
// of the value for what the equation leaves out.
func near(name string, reference, share float64, why, note string) lab.Cell {
	return lab.Cell{
		Name: name, Paper: lab.None, Note: note,
		Tolerance: lab.Plus(lab.StandardErrors, share*reference), Why: why,
	}.Expect(reference)
}

// never is a cell that is zero in every round.
func never(name string) lab.Cell {
	return lab.Cell{Name: name, Paper: lab.None, Tolerance: lab.Within(0), Why: "never, in any round"}.Expect(0)
}

// poisson draws a Poisson number: by Knuth's product where the mean is small, else as
// a normal one, rounded.
func poisson(r *rand.Rand, mean float64) int {
	if mean > 100 {
		return max(0, int(mean+0.5+r.NormFloat64()*sqrt(mean)))
	}
	n := 0
	for p := r.ExpFloat64(); p < mean; p += r.ExpFloat64() {
		n++
	}
	return n
}
