package generalized

import (
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// geometry is a filter's, with the paper's formulas.
type geometry struct{ generalized.Shape }

func newGeometry(m uint64, k0, k1 int) geometry {
	return geometry{generalized.Shape{M: m, K0: k0, K1: k1}}
}

// untouched is (1-q0-q1)^n, the chance that n Inserts leave a bit alone (Eq. 6).
func (s geometry) untouched(n float64) float64 {
	return math.Exp(float64(s.K0+s.K1) * n * math.Log1p(-1/float64(s.M)))
}

// zeros is p, the expected share of zeros after n Inserts into a filter that had
// the share p0 (Eq. 7).
func (s geometry) zeros(n, p0 float64) float64 {
	q0, q1 := s.Rates()
	u := s.untouched(n)
	return p0*u + q0/(q0+q1)*(1-u)
}

// falsePositive is f_p, the chance that a key other than the n inserted ones is found:
// p^b0 (1-p)^b1 (Eq. 8). An Insert resets b0 = m q0 and sets b1 = m q1 bits on average.
func (s geometry) falsePositive(n, p0 float64) float64 {
	q0, q1 := s.Rates()
	zeros := s.zeros(n, p0)
	return math.Pow(zeros, float64(s.M)*q0) * math.Pow(1-zeros, float64(s.M)*q1)
}

// falsePositiveSimplified is f_p with k0 and k1 instead of b0 and b1
// (Eq. 16), good where m is much larger than both.
func (s geometry) falsePositiveSimplified(n, p0 float64) float64 {
	zeros := s.zeros(n, p0)
	return math.Pow(zeros, float64(s.K0)) * math.Pow(1-zeros, float64(s.K1))
}

// falseNegativeAfter is the chance that a key is lost when i others were inserted
// after it (Eq. 9 to 11).
func (s geometry) falseNegativeAfter(i float64) float64 {
	q0, q1 := s.Rates()
	u := s.untouched(i)
	p00 := u + q0/(q0+q1)*(1-u) // Eq. 9: a reset bit is still 0
	p11 := u + q1/(q0+q1)*(1-u) // Eq. 10: a set bit is still 1
	return 1 - math.Pow(p00, float64(s.M)*q0)*math.Pow(p11, float64(s.M)*q1)
}

// falseNegative is f_n, the share of n inserted keys that is lost at the end
// (Eq. 12). It takes time in proportion to n.
func (s geometry) falseNegative(n int) float64 {
	sum := 0.0
	for i := range n {
		sum += s.falseNegativeAfter(float64(i))
	}
	return sum / float64(n)
}

// falseNegativeBound is F_n, the chance that a key is lost when n others were
// inserted after it, in the paper's approximation (Eq. 22 to 24). It bounds f_n for this n.
// With growing n it approaches 1-F_p, which is not a useful bound.
func (s geometry) falseNegativeBound(n float64) float64 {
	k0, k1 := float64(s.K0), float64(s.K1)
	u := math.Exp(-(k0 + k1) * n / float64(s.M))
	p00 := u + k0/(k0+k1)*(1-u)
	p11 := u + k1/(k0+k1)*(1-u)
	return 1 - math.Pow(p00, k0)*math.Pow(p11, k1)
}

// drawn is a filter in the paper's initial condition: each bit is 0 with the chance
// p0. The error is least for all zeros or all ones, and F_p for p0 = k0/(k0+k1)
// (Eq. 27).
func (s geometry) drawn(p0 float64, r *rand.Rand) *generalized.Filter {
	var ones []filter.Cell
	for pos := range s.M {
		if r.Float64() >= p0 {
			ones = append(ones, filter.Cell{Pos: pos, Value: 1})
		}
	}
	return lab.Must(generalized.Of(s.Shape, ones, 0))
}
