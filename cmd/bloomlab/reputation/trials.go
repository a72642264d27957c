package reputation

import (
	"fmt"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// shares are the shares of liars in the sweep.
var shares = []float64{0, 0.1, 0.2, 0.3, 0.4}

func lieName(share float64) string { return fmt.Sprintf("%g %% lie", 100*share) }

// sweep combines all shares of liars with all quorums, with and without reputations.
func sweep() lab.Experiment {
	e := lab.Experiment{
		Name: "reputation", Title: "1,000 reporters, some of them liars: wanted mail in Junk and spam caught, in 6 weeks",
		Source: source, Derived: comparisons, Figures: sweepFigures,
	}
	for _, share := range shares {
		t := trial{
			name: lieName(share), most: worlds,
			scenario: scenario{users: users, days: days, liars: share, mix: usual},
		}
		for _, q := range quorums {
			way := settled(q)
			way.weekly = weekly(share)
			t.ways = append(t.ways, way, equals(q))
		}
		e.Trials = append(e.Trials, t.lab())
	}
	e.Trials = append(e.Trials, mistakesTrial(), ledgerTrial())
	return e
}

// weekly reports whether a share of liars is shown week by week.
func weekly(share float64) bool { return share == 0 || share == 0.2 || share == 0.4 }

// comparisons compare quorums with each other, and reputations with none.
func comparisons(rows []lab.Row) []lab.Derived {
	measured := byName(rows)
	var all []lab.Derived
	ratio := func(name, scenario, figure string, over, under settings, low, high float64, why string) {
		all = append(all, lab.Derived{
			Cell:    between(scenario+", "+name+": "+figure, low, high, why, ""),
			Summary: lab.Summary{Mean: measured[cellName(scenario, over.name, figure)] / measured[cellName(scenario, under.name, figure)], Rounds: 1},
		})
	}
	honest := lieName(0)
	ratio("quorum 2 / 1", honest, junk, settled(2), settled(1), 0, 0.7, "two must make the same mistake")
	ratio("quorum 3 / 2", honest, junk, settled(3), settled(2), 0, 0.9, "three must make the same mistake")
	ratio("quorum 2 / 1", honest, caught, settled(2), settled(1), 0.5, 0.95, "spam that few people receive has few reports")
	for _, share := range shares[1:] {
		for _, q := range quorums {
			name := fmt.Sprintf("quorum %g, reputations / equals", q)
			ratio(name, lieName(share), junk, settled(q), equals(q), 0, 0.95, "reputations help")
			ratio(name, lieName(share), caught, settled(q), equals(q), 1, 2, "reputations help")
		}
	}
	return all
}

func byName(rows []lab.Row) map[string]float64 {
	measured := make(map[string]float64)
	for _, row := range rows {
		measured[row.Cell] = row.Measured
	}
	return measured
}

// attacks runs each attack of the sweep alone.
func attacks() lab.Experiment {
	e := lab.Experiment{
		Name: "reputation-attacks", Title: "200 of 1,000 reporters lie in one way: wanted mail in Junk and spam caught, weeks 4 to 6",
		Source: source,
	}
	for _, attack := range []struct {
		name string
		side side
	}{{"alone", loner}, {"together", colluder}, {"after 20 days of good reports", sleeper}, {"under fresh names", sybil}} {
		t := trial{
			name: "20 % lie " + attack.name, from: 3, most: worlds / 2,
			scenario: scenario{users: users, days: days, liars: 0.2, mix: mix{attack.side: 1}},
		}
		for _, q := range quorums {
			t.ways = append(t.ways, settled(q))
		}
		e.Trials = append(e.Trials, t.lab())
	}
	return e
}

// otherRules adds the alternative rules one by one; with all of them they are the
// product's first rules.
func otherRules() lab.Experiment {
	t := trial{
		name: "20 % lie", most: worlds / 2,
		scenario: scenario{users: users, days: days, liars: 0.2, mix: usual},
	}
	for _, q := range quorums[:2] {
		for _, r := range []struct {
			name  string
			rules rules
		}{
			{"as it is", rules{}},
			{"the quorum lists again", rules{factor: 1}},
			{"revocations in advance", rules{advance: true}},
			{"and refutations cost less", rules{advance: true, keeps: true}},
			{"and weights fall slowly", rules{advance: true, keeps: true, slow: true}},
		} {
			way := settled(q)
			way.rules, way.name = r.rules, way.name+", "+r.name
			t.ways = append(t.ways, way)
		}
		t.ways = append(t.ways, equals(q))
	}
	return lab.Experiment{
		Name: "reputation-rules", Title: "milder rules against liars: wanted mail in Junk and spam caught",
		Source: source, Trials: []lab.Trial{t.lab()},
	}
}

// sizes simulates sites of other sizes, without liars and with a tenth of liars.
func sizes() lab.Experiment {
	e := lab.Experiment{
		Name: "reputation-sizes", Title: "quorum and newcomers' weight for sites of 50 to 5,000 users",
		Source: source,
	}
	for _, site := range []site{{50, days, 10 * worlds}, {1000, days, worlds / 2}, {5000, 21, 1}} {
		for _, t := range site.trials() {
			e.Trials = append(e.Trials, t.lab())
		}
	}
	return e
}

// site is a site of one size; larger ones are simulated for a shorter time.
type site struct{ users, days, rounds int }

// trials returns a trial without liars and one with a tenth of liars.
func (x site) trials() (all []trial) {
	for _, share := range []float64{0, 0.1} {
		all = append(all, trial{
			name: fmt.Sprintf("%d users, %s", x.users, lieName(share)), most: x.rounds,
			scenario: scenario{users: x.users, days: x.days, liars: share, mix: usual},
			ways:     sizeWays(),
		})
	}
	return all
}

// sizeWays returns the candidates for a recommendation.
func sizeWays() []settings {
	var all []settings
	for _, q := range []float64{1, 2, 3, 5, 10} {
		all = append(all, settled(q))
		if q > 1 && q < 5 {
			half := settled(q)
			half.model.Newcomer, half.name = 0.5, half.name+", newcomers 0.5"
			all = append(all, half)
		}
	}
	return all
}
