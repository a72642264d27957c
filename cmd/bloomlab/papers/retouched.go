package papers

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Selection is how one of a false positive's k bits is chosen to be cleared
// (Donnet, Baynat, Friedman, section IV.A). Where bits are equal, the first of
// the key's positions is taken.
type Selection int

const (
	// RandomSelection takes any of the k positions (Algorithm 1).
	RandomSelection Selection = iota
	// MinimumFN takes the bit with the least v_A: it loses the fewest members
	// (Algorithm 2).
	MinimumFN
	// MaximumFP takes the bit with the greatest v_B: it removes the most false
	// positives (Algorithm 3).
	MaximumFP
	// RatioSelection takes the bit with the least v_A/v_B (Algorithm 4).
	RatioSelection
)

var selectionNames = [...]string{"random", "minimum FN", "maximum FP", "ratio"}

func (s Selection) String() string {
	if s < 0 || int(s) >= len(selectionNames) {
		return fmt.Sprintf("selection %d", int(s))
	}
	return selectionNames[s]
}

// Retouching configures the choice of a Retouched filter.
type Retouching struct {
	Selection Selection
	A         *CountingVector // v_A, over the members; for MinimumFN and RatioSelection
	B         *CountingVector // v_B, over false positives; for MaximumFP and RatioSelection
	Random    *rand.Rand      // for RandomSelection
}

// Retouched is the retouched Bloom filter (Donnet, Baynat, Friedman, "Retouched
// Bloom Filters", 2006): bits of a Bloom filter are cleared, so that known false
// positives are no longer found. Its size does not change. Other false positives are
// removed, too. The price is lost members: false negatives, which a Bloom filter never has.
//
//	Classic (all of A is in it) -> NewRetouched -> Clear each b of B -> Has
//
// The result depends on the choice of the bit: see Selection. v_A counts the members of a
// bit, v_B its false positives. The paper's pseudo-code counts v_B over the keys to
// remove, B, but its Fig. 6 is reproduced only if v_B counts all false positives of the
// universe, F_P. The caller chooses by adding keys to the vector. If F_P is unknown, as
// with mail, only B is available.
//
// An OR with another filter restores cleared bits. If filters are joined, the cleared
// bits must be kept as a mask.
//
// Reads may run concurrently with each other, but not with Clear.
type Retouched struct {
	bits      *Classic
	selection Selection
	a, b      *CountingVector // nil where the selection does not look at them
	random    *rand.Rand
	cleared   int
}

// NewRetouched takes over a filter and the vectors, which must be used only through the
// result. It is an error if a selection lacks what it needs, or if a vector has another
// size than the filter.
func NewRetouched(bloom *Classic, how Retouching) (*Retouched, error) {
	s := how.Selection
	if s < RandomSelection || s > RatioSelection {
		return nil, fmt.Errorf("retouched filter: %v is unknown", s)
	}
	if s == RandomSelection && how.Random == nil {
		return nil, fmt.Errorf("retouched filter: %v selection without a random stream", s)
	}
	r := &Retouched{bits: bloom, selection: s, random: how.Random}
	if s == MinimumFN || s == RatioSelection {
		r.a = how.A
		if err := r.a.fits(bloom); err != nil {
			return nil, fmt.Errorf("retouched filter: %v selection: v_A: %w", s, err)
		}
	}
	if s == MaximumFP || s == RatioSelection {
		r.b = how.B
		if err := r.b.fits(bloom); err != nil {
			return nil, fmt.Errorf("retouched filter: %v selection: v_B: %w", s, err)
		}
	}
	return r, nil
}

// Clear removes a false positive, given by its positions (at least one, each below m): it
// clears one of them and returns it. If the key is not found, for example because a bit
// was cleared for another key, Clear changes nothing and returns false. Clear cannot
// check whether the key is a false positive; it removes a member as well.
func (r *Retouched) Clear(positions []uint64) (pos uint64, cleared bool) {
	if len(positions) == 0 || !r.bits.Has(positions) {
		return 0, false
	}
	pos = r.pick(positions)
	r.bits.ClearBit(pos)
	r.cleared++
	if r.a != nil {
		r.a.clear(pos)
	}
	if r.b != nil {
		r.b.clear(pos)
	}
	return pos, true
}

// pick chooses among the positions of a key whose bits are all set.
func (r *Retouched) pick(positions []uint64) uint64 {
	if r.selection == RandomSelection {
		return positions[r.random.IntN(len(positions))]
	}
	best := positions[0]
	for _, pos := range positions[1:] {
		if r.better(pos, best) {
			best = pos
		}
	}
	return best
}

// better reports whether bit x is to be cleared rather than bit y. Ratios are
// compared by their cross products; a bit without any false positive of v_B has an
// infinite one.
func (r *Retouched) better(x, y uint64) bool {
	switch r.selection {
	case MinimumFN:
		return r.a.At(x) < r.a.At(y)
	case MaximumFP:
		return r.b.At(x) > r.b.At(y)
	}
	bx, by := r.b.At(x), r.b.At(y)
	if bx == 0 || by == 0 {
		return bx > by
	}
	return r.a.At(x)*by < r.a.At(y)*bx
}

// Has reports whether a key is found at its positions.
func (r *Retouched) Has(positions []uint64) bool { return r.bits.Has(positions) }

// Cleared is s, the number of bits that were cleared: what the selection costs
// (Fig. 5).
func (r *Retouched) Cleared() int { return r.cleared }

// RetouchEffect is the effect of clearing on the members A and on the false positives
// F_P, in numbers of keys.
type RetouchEffect struct {
	FalsePositives int // |F_P|, before
	Remaining      int // |F'_P|, still found
	Members        int // |A|
	Lost           int // |F'_N|, members no longer found
}

// DeltaFP is the share of false positives that are gone (Eq. 10), 0 to 1.
func (e RetouchEffect) DeltaFP() float64 {
	return float64(e.FalsePositives-e.Remaining) / float64(e.FalsePositives)
}

// DeltaFN is the share of members that are lost (Eq. 11), 0 to 1.
func (e RetouchEffect) DeltaFN() float64 { return float64(e.Lost) / float64(e.Members) }

// Chi is DeltaFP/DeltaFN (Eq. 12): above 1, more is removed than is lost. It is
// infinite where no member was lost.
func (e RetouchEffect) Chi() float64 { return e.DeltaFP() / e.DeltaFN() }

// RandomizedClearing is 1-r_s (Eq. 16): the share of false positives that go, and
// of members that are lost, when s of the ones of a filter are cleared blindly.
// Both are equal, so chi is 1: what every Selection must beat.
func RandomizedClearing(s, ones float64, k int) float64 {
	return 1 - math.Pow(1-s/ones, float64(k))
}
