package yancho

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/labtest"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Every row of every experiment is within its tolerance, from two rounds on. Under
// the race detector the simulations that insert one by one are omitted: they are
// the code of experiments 2 and 5, which stay, with more insertions.
func TestRowsAreWithin(t *testing.T) {
	testenv.Servers(t)
	for _, e := range Experiments() {
		if testenv.Race && slices.Contains([]string{"1", "3", "4", "6", "7", "8"}, strings.TrimPrefix(e.Name, "yancho-exp")) {
			continue
		}
		rows := labtest.Run(t, e, lab.Options{Rounds: 2, Seed: 1})
		for _, row := range rows {
			if !math.IsNaN(row.Tolerance) && !math.IsNaN(row.Paper) && math.Abs(row.Reference-row.Paper) > 1e-3*row.Paper && row.Note == "" {
				t.Errorf("%s, %s: not held against the printed %v, without a note", row.Experiment, row.Cell, row.Paper)
			}
		}
		if e.Figures == nil {
			continue
		}
		for _, f := range e.Figures(rows) {
			if !strings.HasPrefix(f.Name, e.Name) {
				t.Errorf("%s: a figure is named %s", e.Name, f.Name)
			}
		}
	}
}

// The printed reduction rates are the ratios of the printed means, but for one.
func TestPrintedReductions(t *testing.T) {
	for _, s := range simulations {
		for _, r := range s.rates {
			for i, k := range hashes {
				right := r.intuitive[i] / r.refined[i]
				// Half a unit in the fourth digit of each mean, and in the third decimal.
				half := right*(halfUnit(r.intuitive[i])/r.intuitive[i]+halfUnit(r.refined[i])/r.refined[i]) + 0.5e-3
				swapped := s.number == 7 && r.m == 320_000 && k == 8
				if off := math.Abs(r.reduction[i] - right); !math.IsNaN(right) && off > half != swapped {
					t.Errorf("table %s, m=%d k=%d: printed %v, the means give %.4f", s.table, r.m, k, r.reduction[i], right)
				}
			}
		}
	}
}

// halfUnit is half a unit in the fourth digit.
func halfUnit(x float64) float64 { return 0.5 * math.Pow(10, math.Floor(math.Log10(x))-3) }

// The small printed means of experiments 4 to 8 are whole numbers of erring
// insertions in 1,000 sequences of the length l that noteWeight says, but for one
// (Table VII, 320K, k=6); they are not with the number of distinct elements for l.
func TestPrintedMeansGiveTheLengthAway(t *testing.T) {
	whole := func(s simulation, l float64) (fits, all int) {
		for _, r := range s.rates {
			for _, mean := range append(r.intuitive[:], r.refined[:]...) {
				events, half := mean*l*paperRounds, halfUnit(mean)*l*paperRounds
				if mean == 0 || half > 0.11 {
					continue
				}
				all++
				if math.Abs(events-math.Round(events)) <= half+1e-9 {
					fits++
				}
			}
		}
		return fits, all
	}
	for _, s := range simulations {
		if !s.byCount {
			continue
		}
		fits, all := whole(s, s.total())
		if fits < all-1 || fits < 2 {
			t.Errorf("experiment %d, l=%v: %d of %d means are whole", s.number, s.total(), fits, all)
		}
		if wrong, _ := whole(s, 9500); wrong == all && all > 1 {
			t.Errorf("experiment %d: the means are whole for l=9,500 too", s.number)
		}
	}
}

func TestSample(t *testing.T) {
	for _, s := range simulations {
		c := s.c.sample(rand.New(rand.NewPCG(3, uint64(s.number))))
		distinct, total := 0, 0
		for _, n := range c {
			total += int(n)
			if n > 0 {
				distinct++
			}
			if int(n) > s.c.most {
				t.Errorf("experiment %d: c_i of %d", s.number, n)
			}
		}
		if s.c.total != 0 && total != s.c.total || s.c.distinct != 0 && distinct != s.c.distinct {
			t.Errorf("experiment %d: %d distinct, %d in all", s.number, distinct, total)
		}
		sequence := s.order.sequence(rand.New(rand.NewPCG(4, 4)), c)
		if (sequence == nil) != (s.order == together) {
			t.Errorf("experiment %d: a sequence of %d", s.number, len(sequence))
		}
		for _, i := range sequence {
			c[i]-- // wraps around where there is one too many
		}
		for i, left := range c {
			if sequence != nil && left != 0 {
				t.Errorf("experiment %d: element %d is %d short", s.number, i, int32(left))
			}
		}
		if s.order == cyclic && (sequence[0] != 0 || sequence[elements] != 0 || sequence[elements+1] != 1) {
			t.Error("the cyclic order does not go round")
		}
	}
}

func TestDrawPoisson(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const n, lambda = 20_000, 10.0
	sum, squares := 0.0, 0.0
	for range n {
		x := float64(lab.Poisson(r, lambda))
		sum += x
		squares += (x - lambda) * (x - lambda)
	}
	if math.Abs(sum/n-lambda) > 4*math.Sqrt(lambda/n) || math.Abs(squares/n-lambda) > 0.5 {
		t.Errorf("mean %v, variance %v", sum/n, squares/n)
	}
}

// Binomial tails worked by hand.
func TestAtLeast(t *testing.T) {
	for _, tc := range []struct {
		j, n    int
		p, want float64
	}{
		{0, 3, 0.5, 1},
		{2, 3, 0.5, 0.5},
		{3, 3, 0.1, 1e-3},
		{1, 1_000_000, 1e-6, 1 - math.Exp(-1)},
	} {
		if got := atLeast(tc.j, tc.n, tc.p); math.Abs(got/tc.want-1) > 1e-6 {
			t.Errorf("P(X >= %d) of %d at %v: %v, want %v", tc.j, tc.n, tc.p, got, tc.want)
		}
	}
}

// Where all positions are equally likely, the expected error is Eq. 1.
func TestChunkedExpectation(t *testing.T) {
	for _, c := range []chunked{
		{"", 16, 1 << 16, 10_000, 8, ""},
		{"", 32, 400_000, 10_000, 4, ""}, // 2^64 values
	} {
		want := papers.ClassicError(float64(c.m), float64(c.n), c.k)
		if got := c.expected(); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%v: %v, want %v", c, got, want)
		}
	}
	c := chunked{"", 1, 3, 1, 4, ""} // 2 bits onto 3 positions: 1/2, 1/4, 1/4
	want := math.Pow(0.5*(1-1.0/16)+0.5*(1-81.0/256), 4)
	if got := c.expected(); math.Abs(got-want) > 1e-12 {
		t.Errorf("%v: %v, want %v", c, got, want)
	}
}

// Only the printed merge of refined filters counts too low, and adding up counts
// is never worse than adding up cells.
func TestFederation(t *testing.T) {
	for _, sites := range []int{1, 2, 8} {
		f := NewFederation(sites, 10, 400, 8, 4)
		for seed := range uint64(3) {
			all := f.Round(rand.New(rand.NewPCG(seed, 6)))
			for _, s := range []Scheme{Intuitive, MinOfSum, SumOfMin} {
				if all[s].Under != 0 || all[s].Missed != 0 {
					t.Errorf("%d sites, seed %d, scheme %d: %+v", sites, seed, s, all[s])
				}
			}
			if all[SumOfMin].Over > all[MinOfSum].Over {
				t.Errorf("%d sites, seed %d: sum of minima %+v, minimum of sums %+v", sites, seed, all[SumOfMin], all[MinOfSum])
			}
			if under := all[Printed].Under; (under > 0) != (sites > 1) {
				t.Errorf("%d sites, seed %d: the printed merge counts %v too low", sites, seed, under)
			}
		}
	}
}
