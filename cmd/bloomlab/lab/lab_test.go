package lab

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// coin has one cell that all draw anew and one that is drawn once.
func coin(tolerance func(Summary) float64) Experiment {
	return Experiment{Name: "coin", Trials: []Trial{
		{
			Cells: []Cell{{Name: "mean", Paper: 0.5, Tolerance: tolerance}, {Name: "once", Paper: None}},
			New: func(common *rand.Rand) Round {
				once := common.Float64()
				return func(r *rand.Rand, out []float64) { out[0], out[1] = r.Float64(), once }
			},
		},
		{
			Cells: []Cell{{Name: "rare", Paper: None}},
			New: func(common *rand.Rand) Round {
				return func(r *rand.Rand, out []float64) {
					if r.IntN(2) == 0 {
						out[0] = 1
					}
				}
			},
		},
		{
			Fixed: true, Cells: []Cell{{Name: "computed", Paper: 3, Tolerance: Within(0)}},
			New: func(*rand.Rand) Round { return func(_ *rand.Rand, out []float64) { out[0] = 3 } },
		},
	}}
}

func mustRun(t *testing.T, e Experiment, o Options) []Row {
	t.Helper()
	rows, err := Run(context.Background(), e, o)
	testenv.Check(t, err)
	return rows
}

func asJSON(t *testing.T, rows []Row) string {
	t.Helper()
	b, err := json.Marshal(rows)
	testenv.Check(t, err)
	return string(b)
}

func TestRowsDependOnSeedAndRoundsOnly(t *testing.T) {
	e := coin(StandardErrors)
	one := asJSON(t, mustRun(t, e, Options{Rounds: 50, Seed: 7, Workers: 1}))
	for _, workers := range []int{2, 5, 64} {
		if got := asJSON(t, mustRun(t, e, Options{Rounds: 50, Seed: 7, Workers: workers})); got != one {
			t.Errorf("%d workers:\n%s\none worker:\n%s", workers, got, one)
		}
	}
	if got := asJSON(t, mustRun(t, e, Options{Rounds: 50, Seed: 8, Workers: 1})); got == one {
		t.Error("another seed gave the same rows")
	}
}

func TestRowsSumUpTheRounds(t *testing.T) {
	rows := mustRun(t, coin(StandardErrors), Options{Rounds: 400, Seed: 1})
	mean, once, rare, computed := rows[0], rows[1], rows[2], rows[3]
	if !mean.Within || mean.Rounds != 400 || math.Abs(mean.SD-math.Sqrt(1.0/12)) > 0.03 {
		t.Errorf("uniform values: %+v", mean)
	}
	if once.SD != 0 || once.Rounds != 400 || !math.IsNaN(once.Reference) {
		t.Errorf("drawn once for all rounds: %+v", once)
	}
	if rare.Measured != 1 || rare.Rounds < 150 || rare.Rounds > 250 {
		t.Errorf("rounds without a result are not counted: %+v", rare)
	}
	if computed.Rounds != 1 || !computed.Within || computed.Tolerance != 0 {
		t.Errorf("a fixed trial has one round: %+v", computed)
	}
}

// A trial with expensive rounds has at most Most of them.
func TestMostRounds(t *testing.T) {
	e := Experiment{Name: "dear", Trials: []Trial{{
		Most: 6, Cells: []Cell{{Name: "rounds", Paper: None}},
		New: func(*rand.Rand) Round { return func(_ *rand.Rand, out []float64) { out[0] = 1 } },
	}}}
	for asked, want := range map[int]int{2: 2, 6: 6, 1000: 6} {
		if row := mustRun(t, e, Options{Rounds: asked, Seed: 1})[0]; row.Rounds != want || e.Work(asked) != want {
			t.Errorf("%d asked: %d rounds, work of %d, want %d", asked, row.Rounds, e.Work(asked), want)
		}
	}
}

func TestRowOutside(t *testing.T) {
	e := coin(StandardErrors)
	e.Trials[0].Cells[0] = e.Trials[0].Cells[0].Expect(0)
	row := mustRun(t, e, Options{Rounds: 100, Seed: 1})[0]
	if row.Within || row.Reference != 0 || row.Paper != 0.5 {
		t.Errorf("a mean of 0.5 held against 0: %+v", row)
	}
}

func TestDerivedRowsStandBehind(t *testing.T) {
	e := coin(nil)
	e.Derived = func(rows []Row) []Derived {
		ratio := Summary{Mean: rows[3].Measured / rows[2].Measured, Rounds: rows[2].Rounds}
		return []Derived{{Cell: Cell{Name: "ratio", Paper: 2, Tolerance: Within(0.5)}, Summary: ratio}}
	}
	rows := mustRun(t, e, Options{Rounds: 20, Seed: 1})
	last := rows[len(rows)-1]
	if len(rows) != 5 || last.Experiment != "coin" || last.Cell != "ratio" || last.Measured != 3 || last.Within {
		t.Errorf("%d rows, the last %+v", len(rows), last)
	}
}

func TestRunRefuses(t *testing.T) {
	if _, err := Run(context.Background(), coin(nil), Options{Rounds: 0}); err == nil || !strings.Contains(err.Error(), "0 rounds") {
		t.Errorf("no rounds: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, coin(nil), Options{Rounds: 10}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestProgressIsAllTheWork(t *testing.T) {
	e := coin(nil)
	done := 0
	mustRun(t, e, Options{Rounds: 10, Workers: 1, Progress: func(n int) { done += n }})
	if want := e.Work(10); done != want || want != 21 {
		t.Errorf("%d rounds reported, %d announced, 21 done", done, want)
	}
}

func TestMomentsJoin(t *testing.T) {
	var all, left, right moments
	for i, x := range []float64{3, 1, 4, 1, 5, 9, 2, 6} {
		all.add(x)
		if i < 3 {
			left.add(x)
		} else {
			right.add(x)
		}
	}
	left.join(right)
	s, want := left.summary(), all.summary()
	if s.Rounds != 8 || math.Abs(s.Mean-want.Mean) > 1e-12 || math.Abs(s.SD-want.SD) > 1e-12 {
		t.Errorf("joined %+v, at once %+v", s, want)
	}
	if math.Abs(want.SD-math.Sqrt(52.875/7)) > 1e-12 {
		t.Errorf("deviation %v", want.SD)
	}
}

// Sound rows are within for nearly every seed and any number of rounds; ones
// that are a good part wrong are not.
func TestTolerances(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const rate, chances = 0.004, 500.0
	events := func(rate float64, rounds int) Summary {
		var m moments
		for range rounds {
			hits := 0.0
			for range int(chances) {
				if r.Float64() < rate {
					hits++
				}
			}
			m.add(hits / chances)
		}
		return m.summary()
	}
	for _, rounds := range []int{2, 5, 30, 200} {
		out, caught := 0, 0
		for range 200 {
			s := events(rate, rounds)
			tolerances := []func(Summary) float64{Events(chances, rate, 0)}
			if rounds >= 30 { // the deviation of two rounds with equal counts is 0
				tolerances = append(tolerances, StandardErrors, AgainstRounds(1000, math.Sqrt(rate/chances)))
			}
			for _, tolerance := range tolerances {
				if math.Abs(s.Mean-rate) > tolerance(s) {
					out++
				}
			}
			if s := events(2*rate, rounds); math.Abs(s.Mean-rate) > Events(chances, rate, 0)(s) {
				caught++
			}
		}
		if out > 2 {
			t.Errorf("%d rounds: %d sound means of 200 or 600 are out", rounds, out)
		}
		if rounds == 200 && caught != 200 {
			t.Errorf("%d rounds: only %d of 200 means of twice the rate are out", rounds, caught)
		}
	}
}

func TestRowJSON(t *testing.T) {
	b, err := json.Marshal(newRow("coin", Cell{Name: "c", Paper: None, Note: "n"}, Summary{Mean: 2, Rounds: 1}))
	testenv.Check(t, err)
	var got map[string]any
	testenv.Check(t, json.Unmarshal(b, &got))
	want := map[string]any{
		"experiment": "coin", "cell": "c", "paper": nil, "reference": nil, "measured": 2.0, "sd": 0.0,
		"rounds": 1.0, "tolerance": nil, "why": "", "within": true, "note": "n",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
