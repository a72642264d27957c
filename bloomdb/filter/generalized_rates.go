package filter

import "math"

// rates are q0 and q1, the chances that one Insert resets and sets a given bit
// (Eq. 4 and 5).
func (s GeneralizedShape) rates() (q0, q1 float64) {
	miss := math.Log1p(-1 / float64(s.M)) // ln of the chance that one function misses the bit
	q0 = -math.Expm1(float64(s.K0) * miss)
	q1 = -math.Expm1(float64(s.K1)*miss) * math.Exp(float64(s.K0)*miss)
	return q0, q1
}

// untouched is (1-q0-q1)^n, the chance that n Inserts leave a bit alone (Eq. 6).
func (s GeneralizedShape) untouched(n float64) float64 {
	return math.Exp(float64(s.K0+s.K1) * n * math.Log1p(-1/float64(s.M)))
}

// Zeros is p, the expected share of zeros after n Inserts into a filter that had
// the share p0 (Eq. 7).
func (s GeneralizedShape) Zeros(n, p0 float64) float64 {
	q0, q1 := s.rates()
	u := s.untouched(n)
	return p0*u + q0/(q0+q1)*(1-u)
}

// FalsePositive is f_p, the chance that a key is found which was not among the n
// inserted: p^b0 (1-p)^b1 (Eq. 8), where b0 = m q0 and b1 = m q1 bits are reset
// and set by an Insert on average.
func (s GeneralizedShape) FalsePositive(n, p0 float64) float64 {
	q0, q1 := s.rates()
	return s.falsePositive(s.Zeros(n, p0), float64(s.M)*q0, float64(s.M)*q1)
}

// FalsePositiveSimplified is f_p with k0 and k1 in the place of b0 and b1
// (Eq. 16), good where m is much larger than both.
func (s GeneralizedShape) FalsePositiveSimplified(n, p0 float64) float64 {
	return s.falsePositive(s.Zeros(n, p0), float64(s.K0), float64(s.K1))
}

func (s GeneralizedShape) falsePositive(zeros, b0, b1 float64) float64 {
	return math.Pow(zeros, b0) * math.Pow(1-zeros, b1)
}

// FalsePositiveBound is F_p, the largest f_p of any bits at all (Eq. 19), for keys
// chosen without knowledge of them. See Generalized for what it does not bound.
func (s GeneralizedShape) FalsePositiveBound() float64 {
	k0, k1 := float64(s.K0), float64(s.K1)
	return s.falsePositive(k0/(k0+k1), k0, k1)
}

// FalseNegativeAfter is the chance that a key is lost when i others were inserted
// after it (Eq. 9 to 11).
func (s GeneralizedShape) FalseNegativeAfter(i float64) float64 {
	q0, q1 := s.rates()
	u := s.untouched(i)
	p00 := u + q0/(q0+q1)*(1-u) // Eq. 9: a reset bit is still 0
	p11 := u + q1/(q0+q1)*(1-u) // Eq. 10: a set bit is still 1
	return 1 - math.Pow(p00, float64(s.M)*q0)*math.Pow(p11, float64(s.M)*q1)
}

// FalseNegative is f_n, the share of n inserted keys that is lost at the end
// (Eq. 12). It takes time in proportion to n.
func (s GeneralizedShape) FalseNegative(n int) float64 {
	sum := 0.0
	for i := range n {
		sum += s.FalseNegativeAfter(float64(i))
	}
	return sum / float64(n)
}

// FalseNegativeBound is F_n, the chance that a key is lost when n others were
// inserted after it, in the paper's approximation (Eq. 22 to 24). It bounds f_n
// for this n; for n without end it goes to 1-F_p, which is no bound worth its name.
func (s GeneralizedShape) FalseNegativeBound(n float64) float64 {
	k0, k1 := float64(s.K0), float64(s.K1)
	u := math.Exp(-(k0 + k1) * n / float64(s.M))
	p00 := u + k0/(k0+k1)*(1-u)
	p11 := u + k1/(k0+k1)*(1-u)
	return 1 - math.Pow(p00, k0)*math.Pow(p11, k1)
}
