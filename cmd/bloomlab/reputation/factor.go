package reputation

import (
	"fmt"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// The figures of the targets of a ring, in percent of copies, and of all mail.
const (
	wronglyListed = "wanted targets in Junk, %"
	blocked       = "reported targets not in Junk, %"
	loss          = "loss over factor 1"
)

// wantedWeight is the cost of a percent of the wanted mail in Junk, in percents of missed spam:
// the lambda of 9 of Androutsopoulos et al. 2000, for mail that is marked and not blocked.
const wantedWeight = 9

// factors are the numbers of quorums that list again against a revocation of the same period.
var factors = []float64{1, 1.5, 2, 3}

// crowds are the sizes of the ring, of 1,000 users.
var crowds = []int{2, 5, 20, 100}

// fresh is a ring of which half the members take a new name each week.
var fresh = mix{colluder: 0.5, sybil: 0.5}

// factorTrials sets rings that answer each decision against them on wanted mail, then on spam.
func factorTrials() lab.Experiment {
	e := lab.Experiment{
		Name: "reputation-factor", Title: "quorums that list again what was revoked in the same period: wrong and blocked listings, in 6 weeks",
		Source: source,
	}
	e.Trials = append(e.Trials, factorTrial(lieName(0), scenario{users: users, days: days}))
	for _, attack := range []struct {
		name string
		aim  aim
	}{{"report wanted mail", condemning}, {"revoke spam", protecting}} {
		for _, crowd := range crowds {
			e.Trials = append(e.Trials, factorTrial(fmt.Sprintf("%d %s", crowd, attack.name), scenario{
				users: users, days: days, liars: float64(crowd) / users, mix: fresh, ring: ring{aim: attack.aim, answers: true},
			}))
		}
	}
	return e
}

// factorTrial compares the factors in one scenario, for each quorum.
func factorTrial(name string, s scenario) lab.Trial {
	var cells []lab.Cell
	var ways []settings
	figures := []string{junk, caught}
	switch s.ring.aim {
	case condemning:
		figures = append(figures, wronglyListed)
	case protecting:
		figures = append(figures, blocked)
	}
	for _, q := range quorums {
		for _, f := range factors {
			way := settled(q)
			way.rules.factor, way.name = f, fmt.Sprintf("quorum %g, factor %g", q, f)
			ways = append(ways, way)
			for _, of := range figures {
				cells = append(cells, shown(cellName(name, way.name, of)))
			}
			if f > 1 {
				cells = append(cells, shown(cellName(name, way.name, loss)))
			}
		}
	}
	return lab.Trial{Cells: cells, Most: worlds, New: func(*rand.Rand) lab.Round {
		return func(r *rand.Rand, out []float64) {
			d := draw(r.Uint64(), s)
			first := 0.0 // cost at factor 1, which is the first of each quorum
			for _, way := range ways {
				w := lab.Must(d.run(newTally(way.model, way.rules).enter, way.need()))
				rest := w.watch.put(w.put(out, 0, false), s.ring.aim)
				cost := wantedWeight*out[0] - out[1]
				if way.rules.factor == 1 {
					first, out = cost, rest
					continue
				}
				rest[0], out = cost-first, rest[1:]
			}
		}
	}}
}

// put writes the figure of the targets and returns the rest of out: of those that the ring
// condemns, the copies in Junk; of those that it protects, the copies not in Junk.
func (x *watch) put(out []float64, a aim) []float64 {
	switch a {
	case condemning:
		out[0], _ = x.condemned.percent()
	case protecting:
		_, right := x.protected.percent()
		out[0] = 100 - right
	default:
		return out
	}
	return out[1:]
}
