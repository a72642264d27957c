package generalized

import (
	"fmt"
	"math"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

const (
	// MaxBits bounds m of a filter: 16 MiB.
	MaxBits = 1 << 27
	// MaxK bounds k0+k1.
	MaxK = 512
)

// Shape is the geometry of a filter.
type Shape struct {
	M      uint64 // bits, at least k0+k1 and 64, at most MaxBits
	K0, K1 int    // resetting and setting hash functions, each at least 1, at most MaxK in all
}

// Valid returns an error for an invalid shape from outside. With k0 = 0 the filter would be
// a plain Bloom filter, whose error has no bound.
func (s Shape) Valid() error {
	if s.K0 < 1 || s.K1 < 1 || s.K0 > MaxK || s.K1 > MaxK-s.K0 {
		return fmt.Errorf("k0 is %d and k1 is %d, must be at least 1 each and at most %d together", s.K0, s.K1, MaxK)
	}
	if s.M < uint64(max(64, s.K0+s.K1)) || s.M > MaxBits {
		return fmt.Errorf("m is %d, must be %d to %d", s.M, max(64, s.K0+s.K1), MaxBits)
	}
	return nil
}

// String returns the shape in the paper's symbols.
func (s Shape) String() string {
	return fmt.Sprintf("m=%d k0=%d k1=%d", s.M, s.K0, s.K1)
}

// Positions appends the positions of a key to dst: k0 to reset, then k1 to set. The first
// four are the lanes themselves, each further one a lane mixed again. Hash.Sequence of
// package filter is unsuitable: its positions are multiples of three numbers, so that with
// probability about 1/m all setting positions coincide with resetting ones, and such a key
// is found in any filter of zeros.
func (s Shape) Positions(h filter.Hash, dst []uint64) []uint64 {
	for i := range s.K0 + s.K1 {
		dst = append(dst, s.Position(h, i))
	}
	return dst
}

// Position returns position i, from 0. Positions from K0 on are set, the others reset.
func (s Shape) Position(h filter.Hash, i int) uint64 {
	lane := h[i%len(h)]
	if turn := uint64(i / len(h)); turn > 0 {
		lane = filter.Mix(lane + turn*0x9e3779b97f4a7c15)
	}
	return filter.Reduce(lane, s.M)
}

// Rates returns q0 and q1, the probabilities that one Insert resets and sets a given bit
// (Eq. 4 and 5).
func (s Shape) Rates() (q0, q1 float64) {
	miss := math.Log1p(-1 / float64(s.M)) // ln of the probability that one function misses the bit
	q0 = -math.Expm1(float64(s.K0) * miss)
	q1 = -math.Expm1(float64(s.K1)*miss) * math.Exp(float64(s.K0)*miss)
	return q0, q1
}

// found returns the probability of finding a key chosen without knowledge of the bits, if
// zeros is the share of zeros (Eq. 16).
func (s Shape) found(zeros float64) float64 {
	return math.Pow(zeros, float64(s.K0)) * math.Pow(1-zeros, float64(s.K1))
}

// FalsePositiveBound returns F_p, the largest share of keys chosen without knowledge of the
// bits that any bits can find (Eq. 19). For its limits see Filter.
func (s Shape) FalsePositiveBound() float64 {
	return s.found(float64(s.K0) / float64(s.K0+s.K1))
}

// Filter is a Bloom filter that cannot be saturated (Laufer, Velloso, Duarte, "A
// Generalized Bloom Filter to Secure Distributed Network Applications", 2011). A key sets
// the bits of its k1 functions h and then resets those of its k0 functions g; if both
// select the same bit, reset wins. The key is found if all its g bits are 0 and its h bits
// 1.
//
//	sender    Insert, Insert, ... -> AppendBinary
//	receiver  Decode -> Plausible -> Has
//
// The filter carries the votes of a site that is not fully trusted. Whatever bits the site
// sends, all ones or chosen at will, at most the share F_p of keys chosen without knowledge
// of them is found (FalsePositiveBound, Eq. 19; 6.3 % at k0=k1=2, 0.4 % at 4). The filter
// is therefore looked up by itself and unchanged, as one vote of several: of v independent
// sites, q agree on such a key with probability at most C(v,q) F_p^q. It is never joined:
// the OR or AND of two filters is the state of neither, and every key of both may be lost.
//
// F_p does not bound keys for which the bits were made. A sender that knows the positions
// can choose bits that match m/6.4 of m/3.3 chosen keys at k0=k1=2 and m/13 at 4, compared
// with the m/155 and m/622 that honest Inserts keep at 5 % false negatives. The size m
// bounds this, and the quorum makes it harmless. F_p is not exact for small m: coinciding
// positions raise it by a factor of up to 1 + (k0+k1)^2/(2m).
//
// The price is memory and loss of old keys: the older a key, the more likely it is lost
// (Eq. 9 to 11). F_n (Eq. 22 to 24) bounds this for n later keys, not for any number: in a
// steady state all old keys are lost except a share F_p. The filter thus keeps recent keys,
// which suits an endless stream.
//
// According to the paper, a key could never be found if one of its h positions is also one
// of its g positions, because its reset bit would have to be 1. Has ignores such an h
// position.
//
// Keys are given as positions, first the k0 to reset, then the k1 to set, each below m. The
// positions of mail come from Shape.Positions of a keyed filter.Hash. Reads may run at the
// same time as each other, but not at the same time as a write.
type Filter struct {
	shape    Shape
	words    []uint64
	ones     uint64
	inserted uint64
}

// New returns a filter of zeros (p0 = 1).
func New(shape Shape) (*Filter, error) {
	if err := shape.Valid(); err != nil {
		return nil, fmt.Errorf("generalized bloom filter: %w", err)
	}
	return &Filter{shape: shape, words: make([]uint64, (shape.M+63)/64)}, nil
}

// Shape returns the geometry.
func (g *Filter) Shape() Shape { return g.shape }

// Ones returns the number of set bits.
func (g *Filter) Ones() uint64 { return g.ones }

// Inserted returns the number of Inserts. For a decoded filter it is the sender's claim.
func (g *Filter) Inserted() uint64 { return g.inserted }

// Insert adds a key by its k0+k1 positions. Keys inserted before may be lost.
func (g *Filter) Insert(positions []uint64) {
	resetting, setting := positions[:g.shape.K0], positions[g.shape.K0:g.shape.K0+g.shape.K1]
	for _, pos := range setting {
		g.set(pos)
	}
	for _, pos := range resetting {
		g.reset(pos)
	}
	g.inserted++
}

func (g *Filter) set(pos uint64) {
	w, bit := &g.words[pos>>6], uint64(1)<<(pos&63)
	if *w&bit == 0 {
		*w |= bit
		g.ones++
	}
}

func (g *Filter) reset(pos uint64) {
	w, bit := &g.words[pos>>6], uint64(1)<<(pos&63)
	if *w&bit != 0 {
		*w &^= bit
		g.ones--
	}
}

// Bit reports whether a bit is set; its position must be below m.
func (g *Filter) Bit(pos uint64) bool { return g.bit(pos) }

func (g *Filter) bit(pos uint64) bool { return g.words[pos>>6]>>(pos&63)&1 != 0 }

// Has looks up a key by its k0+k1 positions. The key inserted last is always found. An
// earlier key is less likely found the older it is, and any other with probability Error
// unless the bits were made for it.
func (g *Filter) Has(positions []uint64) bool {
	resetting, setting := positions[:g.shape.K0], positions[g.shape.K0:g.shape.K0+g.shape.K1]
	for _, pos := range setting { // first, because ones are rare and most keys lack them
		if !g.bit(pos) && !slices.Contains(resetting, pos) {
			return false
		}
	}
	for _, pos := range resetting {
		if g.bit(pos) {
			return false
		}
	}
	return true
}

// Error returns the probability of finding a key chosen without knowledge of the bits, from
// the current bits: p^k0 (1-p)^k1 (Eq. 16), where p is the share of zeros. It is at most
// FalsePositiveBound.
func (g *Filter) Error() float64 {
	return g.shape.found(1 - float64(g.ones)/float64(g.shape.M))
}

// Plausible is the first check of a filter from outside that should have begun with zeros.
// Inserts raise the share of ones towards k1/(k0+k1), never beyond it. Plausible returns an
// error if there are more ones by six standard deviations, which no honest history
// produces. A filter made by hand can pass.
func (g *Filter) Plausible() error {
	m := float64(g.shape.M)
	q0, q1 := g.shape.Rates()
	steady := m * q1 / (q0 + q1)
	if most := steady + 6*math.Sqrt(m)/2; float64(g.ones) > most {
		return fmt.Errorf("generalized bloom filter %s has %d ones; inserts lead to %.0f and never beyond %.0f", g.shape, g.ones, steady, most)
	}
	return nil
}
