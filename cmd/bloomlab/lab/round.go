package lab

import (
	"math"
	"math/rand/v2"
)

// Must returns the result of a call that cannot fail with the experiment's constants.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check panics on an error that the experiment's constants exclude: a Round returns
// none.
func Check(err error) {
	if err != nil {
		panic(err)
	}
}

// Poisson draws a Poisson number: it multiplies uniform values until they are below
// e^-mean (Knuth 1969, section 3.4.1).
func Poisson(r *rand.Rand, mean float64) (n int) {
	limit := math.Exp(-mean)
	for p := r.Float64(); p > limit; p *= r.Float64() {
		n++
	}
	return n
}
