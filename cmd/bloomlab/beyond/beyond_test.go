package beyond

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/labtest"
)

// Every row of every experiment is within its tolerance, from two rounds on.
func TestRowsAreWithin(t *testing.T) {
	for _, e := range Experiments() {
		labtest.Run(t, e, lab.Options{Rounds: 2, Seed: 1})
	}
}

// Numbers worked by hand: for an empty filter eight spams, and m/k times 1 + 1/2 +
// ... + 1/8 trials; a thousand times as many are the 5.4e7 of a filter of 160 Mbit.
func TestFramingExpectation(t *testing.T) {
	spams, trials := expected(0)
	if spams != 8 || math.Abs(trials-20_000*761.0/280) > 1e-6 {
		t.Errorf("empty filter: %v spams, %v trials", spams, trials)
	}
	if spams, trials = expected(1); spams != 0 || trials != 0 {
		t.Errorf("full filter: %v spams, %v trials", spams, trials)
	}
	if spams, _ = expected(0.5); math.Abs(spams-4) > 1e-9 {
		t.Errorf("half-full filter: %v spams", spams)
	}
	sum := 0.0
	for _, p := range wanted(0.3) {
		sum += p
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("chances sum to %v", sum)
	}
}

// Tables worked by hand: keys of four cells take 8 slots for one, 16 for two and
// three, 32 for four to six. At a mean of a tenth more than three are rare.
func TestTableBits(t *testing.T) {
	p := func(keys, factorial float64) float64 { return math.Exp(-0.1) * math.Pow(0.1, keys) / factorial }
	want := (p(1, 1)*8 + p(2, 2)*16 + p(3, 6)*16 + p(4, 24)*32 + p(5, 120)*32) * 32 / 4096
	if got := tableBits(0.1, 4, 8); math.Abs(got/want-1) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
}

// Counts are as rare as atLeast says.
func TestTraffic(t *testing.T) {
	for i, traffic := range traffics {
		r := rand.New(rand.NewPCG(uint64(i), 8))
		const n = 200_000
		var above [3]int
		limits := [3]float64{2, 8, 32}
		for range n {
			c := float64(traffic.draw(r))
			if c < 1 || c > heaviest {
				t.Fatalf("%s: a count of %v", traffic.name, c)
			}
			for j, limit := range limits {
				if c >= limit {
					above[j]++
				}
			}
		}
		for j, limit := range limits {
			want := n * traffic.atLeast(limit)
			if math.Abs(float64(above[j])-want) > 4*math.Sqrt(want) {
				t.Errorf("%s: %d counts of %v and more, want %.0f", traffic.name, above[j], limit, want)
			}
		}
	}
}
