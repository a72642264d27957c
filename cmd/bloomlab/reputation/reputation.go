// Package reputation simulates a site of 1,000 users who report spam, and of whom a
// share lies. It measures the wanted mail in Junk and the spam caught, by week, by
// quorum and by the rules for weights.
//
//	mail, reporters, lies (drawn) -> world: deliveries and acts in order of time
//	    act -> tally (weights of reporting/trust) -> shelf: the listed keys
//	    delivery -> shelf -> inbox or Junk -> the reader acts, or not
//	weeks -> rows, figures
//
// The package owns the assumptions about mail, readers and liars. The model of
// reputations is that of reporting/trust. A tally in memory decides, because
// reporting/ledger takes 20 times as long; a trial checks that both decide the same.
// Filters are exact here; other experiments measure their errors.
//
// contrib/quorum.md discusses the results.
package reputation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/reporting/trust"
)

// Experiments returns the sweep over liars and quorums, single attacks, factors, milder rules,
// and sites of other sizes.
func Experiments() []lab.Experiment {
	return []lab.Experiment{sweep(), attacks(), factorTrials(), otherRules(), sizes()}
}

const source = "beyond the papers; the weights are those of Jøsang & Ismail 2002, definitions 1 and 2, as in reporting/trust"

const (
	users = 1000
	days  = 7 * weeks
	weeks = 6

	// worlds bounds the rounds: each takes seconds, and averages some ten thousand
	// deliveries.
	worlds = 10
)

// quorums are the compared quorums.
var quorums = []float64{1, 2, 3}

// settings are the rules for decisions.
type settings struct {
	name  string
	model trust.Model
	rules rules

	weekly bool // show each week, too
}

// need returns the least number of reporters for the quorum.
func (s settings) need() float64 { return s.model.Quorum / s.model.Ceiling }

// settled returns the recommended settings of a quorum: the defaults.
func settled(quorum float64) settings {
	m := trust.Default()
	m.Quorum = quorum
	return settings{name: fmt.Sprintf("quorum %g", quorum), model: m}
}

// equals returns settings without reputations: all reporters always have the weight 1.
func equals(quorum float64) settings {
	return settings{
		name:  fmt.Sprintf("quorum %g of equals", quorum),
		model: trust.Model{Quorum: quorum, Newcomer: 1, Floor: 1, Ceiling: 1, HalfLife: time.Hour},
	}
}

// trial is one scenario with several settings.
type trial struct {
	name     string // of the scenario: "20 % lie"
	scenario scenario
	ways     []settings
	from     int // week in which the totals begin, from 0
	most     int // rounds
}

// The two figures of a world, in percent of copies.
const (
	junk   = "wanted in Junk, %"
	caught = "spam caught, %"
	below  = "listings by fewer than the quorum"
)

func cellName(scenario, way, figure string) string { return scenario + ", " + way + ": " + figure }

func weekName(scenario, way string, week int, figure string) string {
	return fmt.Sprintf("%s, %s, week %d: %s", scenario, way, week+1, figure)
}

func (t trial) lab() lab.Trial {
	var cells []lab.Cell
	for _, way := range t.ways {
		cells = append(cells, shown(cellName(t.name, way.name, junk)), shown(cellName(t.name, way.name, caught)))
		if way.weekly {
			for week := range t.scenario.days / 7 {
				cells = append(cells, shown(weekName(t.name, way.name, week, junk)), shown(weekName(t.name, way.name, week, caught)))
			}
		}
	}
	cells = append(cells, never(t.name+": "+below))
	return lab.Trial{Cells: cells, Most: t.most, New: func(*rand.Rand) lab.Round {
		return func(r *rand.Rand, out []float64) {
			d, rest := draw(r.Uint64(), t.scenario), out
			tooFew := 0
			for _, way := range t.ways {
				w := lab.Must(d.run(newTally(way.model, way.rules).enter, way.need()))
				rest = w.put(rest, t.from, way.weekly)
				tooFew += w.below
			}
			rest[0] = float64(tooFew)
		}
	}}
}

// put writes the figures of a world and returns the rest of out.
func (w *world) put(out []float64, from int, weekly bool) []float64 {
	var total week
	for _, k := range w.weeks[from:] {
		total.wanted, total.listed = total.wanted+k.wanted, total.listed+k.listed
		total.spam, total.caught = total.spam+k.spam, total.caught+k.caught
	}
	out[0], out[1] = total.percent()
	out = out[2:]
	if !weekly {
		return out
	}
	for _, k := range w.weeks {
		out[0], out[1] = k.percent()
		out = out[2:]
	}
	return out
}

func (k week) percent() (junk, caught float64) {
	return 100 * float64(k.listed) / float64(k.wanted), 100 * float64(k.caught) / float64(k.spam)
}

// shown is a cell that is not compared with anything.
func shown(name string) lab.Cell { return lab.Cell{Name: name, Paper: lab.None} }

// never is a cell that is zero in every round.
func never(name string) lab.Cell {
	return lab.Cell{Name: name, Paper: lab.None, Tolerance: lab.Within(0), Why: "never, in any round"}.Expect(0)
}

// between is a cell whose value is expected between low and high.
func between(name string, low, high float64, why, note string) lab.Cell {
	return lab.Cell{Name: name, Paper: lab.None, Tolerance: lab.Within((high - low) / 2), Why: why, Note: note}.Expect((low + high) / 2)
}
