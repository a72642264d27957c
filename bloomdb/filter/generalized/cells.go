package generalized

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Retract removes a key, given by its k0+k1 positions, whether it was inserted or not, by
// resetting its h bits. Only the order of Inserts and Retracts matters: repeating all of
// them from some point on, in order and to the last, leads to the same bits. It affects
// other keys less than an Insert: an inserted key is lost with probability k1^2/m.
func (g *Filter) Retract(positions []uint64) {
	resetting, setting := positions[:g.shape.K0], positions[g.shape.K0:g.shape.K0+g.shape.K1]
	asked := false // whether Has looks at any h bit
	for _, pos := range setting {
		g.reset(pos)
		asked = asked || !slices.Contains(resetting, pos)
	}
	if !asked {
		g.set(resetting[0])
	}
}

// Cells appends the set bits, ascending. A filter with few set bits is shorter as coded
// cells.
func (g *Filter) Cells(dst []filter.Cell) []filter.Cell {
	for i, w := range g.words {
		for ; w != 0; w &= w - 1 {
			dst = append(dst, filter.Cell{Pos: uint64(i)<<6 + uint64(bits.TrailingZeros64(w)), Value: 1})
		}
	}
	return dst
}

// Of returns a filter whose set bits are ones, which must be ascending and below m. inserted is
// the number of keys inserted, for Inserted.
func Of(shape Shape, ones []filter.Cell, inserted uint64) (*Filter, error) {
	if n := len(ones); n > 0 && ones[n-1].Pos >= shape.M {
		return nil, fmt.Errorf("generalized bloom filter: bit %d is set, beyond %s", ones[n-1].Pos, shape)
	}
	if !slices.IsSortedFunc(ones, func(a, b filter.Cell) int { return int(int64(a.Pos) - int64(b.Pos)) }) {
		return nil, errors.New("generalized bloom filter: bits are not ascending")
	}
	g, err := New(shape)
	if err != nil {
		return nil, err
	}
	for _, c := range ones {
		g.set(c.Pos)
	}
	g.inserted = inserted
	return g, nil
}
