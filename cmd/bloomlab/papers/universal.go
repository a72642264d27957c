package papers

import (
	"fmt"
	"math/rand/v2"
)

// UniversalPrime is p of Yan & Cho's Eq. 2, section V.A.
const UniversalPrime = 2_100_000_011

// Universal is a family of k universal hash functions (Yan & Cho, Eq. 2):
//
//	h_cd(x) = ((c*x + d) mod p) mod m, 0 < c < p, 0 <= d < p
//
// Keys x are 1 to p-1. An outsider can compute its constants from a few positions, and
// keys that are equal modulo p are the same key. So it is only for the papers'
// experiments, not for mail. A Universal is immutable and safe for concurrent use.
type Universal struct {
	m uint64
	f []universalFunction
}

// universalFunction has the constants of one function of the family.
type universalFunction struct{ C, D uint64 }

// newUniversal makes the family with the given functions onto 0..m-1. m must be
// 1 to p, since positions from p on would never be reached.
func newUniversal(m uint64, functions []universalFunction) (*Universal, error) {
	if err := validSize(m, len(functions)); err != nil {
		return nil, fmt.Errorf("universal hashing: %w", err)
	}
	if m > UniversalPrime {
		return nil, fmt.Errorf("universal hashing: m is %d, must be at most p = %d", m, UniversalPrime)
	}
	for i, f := range functions {
		if f.C < 1 || f.C >= UniversalPrime || f.D >= UniversalPrime {
			return nil, fmt.Errorf("universal hashing: function %d: c is %d, d is %d, must be 1 and 0 to p-1 = %d", i, f.C, f.D, UniversalPrime-1)
		}
	}
	return &Universal{m: m, f: append([]universalFunction(nil), functions...)}, nil
}

// DrawUniversal draws k functions onto 0..m-1, as the paper's simulation does
// with "2k pseudo-random numbers".
func DrawUniversal(m uint64, k int, r *rand.Rand) (*Universal, error) {
	if err := validSize(m, k); err != nil {
		return nil, fmt.Errorf("universal hashing: %w", err)
	}
	functions := make([]universalFunction, k)
	for i := range functions {
		functions[i] = universalFunction{C: 1 + r.Uint64N(UniversalPrime-1), D: r.Uint64N(UniversalPrime)}
	}
	return newUniversal(m, functions)
}

// Positions appends the k positions of key x to dst. They need not be distinct.
// A key from p on counts as its remainder.
func (u *Universal) Positions(x uint64, dst []uint64) []uint64 {
	x %= UniversalPrime
	for _, f := range u.f {
		dst = append(dst, (f.C*x+f.D)%UniversalPrime%u.m)
	}
	return dst
}
