// Package federation simulates a federation of 100 sites with 200 million messages a
// day: the bytes through Redis (traffic, snapshots), the memory of a receiver for all
// other sites (memory), the delay of reports and counts (lag), and the cost of folding
// small sites' counts into one filter (fold).
//
// The filters and the codes are those below bloomdb/filter, the sizes those of package
// bloomdb. Traffic is drawn at full size, one interval at a time; memory is drawn at a
// scale of one to five hundred. The package owns the assumptions about the mail and the
// equations with which the simulation is compared.
package federation

import (
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// Experiments returns the only experiment.
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

// shown is a cell that is not compared with anything.
func shown(name, note string) lab.Cell { return lab.Cell{Name: name, Paper: lab.None, Note: note} }

// near is a cell that is compared with an equation: four standard errors, and a share
// of the value for what the equation omits.
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
