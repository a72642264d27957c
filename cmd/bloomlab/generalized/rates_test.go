package generalized

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// By hand, for m=65,536, n=256, k0=k1=2, p0=1/4: u = exp(-1/64) = 0.984496,
// p = u/4 + (1-u)/2 = 0.253876, f_p = (p(1-p))^2 = 0.03588,
// F_n = 1 - ((1+u)/2)^4 = 0.03065, F_p = 1/16.
func TestFormulas(t *testing.T) {
	s := newGeometry(65536, 2, 2)
	for _, tc := range []struct {
		name      string
		got, want float64
	}{
		{"p", s.zeros(256, 0.25), 0.253876},
		{"f_p", s.falsePositive(256, 0.25), 0.03588},
		{"f_p simplified", s.falsePositiveSimplified(256, 0.25), 0.03588},
		{"F_n", s.falseNegativeBound(256), 0.03065},
		{"f_n of the last", s.falseNegativeAfter(0), 0},
		{"f_n of one before 256", s.falseNegativeAfter(256), 0.03065},
		{"p without end", s.zeros(1e9, 1), 0.5},
		{"f_n without end", s.falseNegativeAfter(1e9), 1 - 0.0625},
	} {
		if math.Abs(tc.got-tc.want) > 2e-5 {
			t.Errorf("%s is %v, want %v", tc.name, tc.got, tc.want)
		}
	}
}

// Positions from the keyed lanes behave as the formulas say, also after so many
// keys that the filter has forgotten most of them.
func TestFormulasAreMeasured(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	const rounds, queries = 30, 2000
	for _, tc := range []struct {
		shape geometry
		keys  int
	}{
		{newGeometry(8192, 2, 2), 256},
		{newGeometry(8192, 4, 4), 5000},
	} {
		found, lost, wrong := 0.0, 0.0, 0.0
		for range rounds {
			g := newFilter(tc.shape)
			oldest := tc.shape.Positions(papers.DrawHash(r), nil)
			g.Insert(oldest)
			for range tc.keys {
				g.Insert(tc.shape.Positions(papers.DrawHash(r), nil))
			}
			if !g.Has(oldest) {
				lost++
			}
			for range queries {
				if g.Has(tc.shape.Positions(papers.DrawHash(r), nil)) {
					wrong++
				}
			}
			if err := g.Plausible(); err != nil {
				t.Error(err)
			}
			found += g.Error() * queries
		}
		expected := tc.shape.falsePositive(float64(tc.keys), 1) * rounds * queries
		if math.Abs(wrong-expected) > 4*math.Sqrt(expected)+0.05*expected || math.Abs(found-expected) > 0.1*expected {
			t.Errorf("%s: %v of %d found that were not inserted, expected %.0f; by its bits %.0f", tc.shape, wrong, rounds*queries, expected, found)
		}
		p := tc.shape.falseNegativeAfter(float64(tc.keys))
		if math.Abs(lost-p*rounds) > 4*math.Sqrt(p*(1-p)*rounds) {
			t.Errorf("%s: oldest key lost %v times in %d, expected %.1f", tc.shape, lost, rounds, p*rounds)
		}
	}
}
