package filter

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Retract makes that a key is not found any more, by its k0+k1 positions, whether
// it was inserted or not: its h bits are reset. The order of Inserts and Retracts
// decides, and nothing else; telling all of them again from some point on, in their
// order and to the last, leads to the same bits. It costs other keys less than an
// Insert does: one that was inserted is lost with the chance k1^2/m.
func (g *Generalized) Retract(positions []uint64) {
	resetting, setting := positions[:g.shape.K0], positions[g.shape.K0:g.shape.K0+g.shape.K1]
	asked := false // an h bit is asked for that Has does not leave out
	for _, pos := range setting {
		g.reset(pos)
		asked = asked || !slices.Contains(resetting, pos)
	}
	if !asked {
		g.set(resetting[0])
	}
}

// Cells appends the bits that are set, ascending: a filter with few of them is
// shorter as coded cells.
func (g *Generalized) Cells(dst []Cell) []Cell {
	for i, w := range g.words {
		for ; w != 0; w &= w - 1 {
			dst = append(dst, Cell{Pos: uint64(i)<<6 + uint64(bits.TrailingZeros64(w)), Value: 1})
		}
	}
	return dst
}

// GeneralizedOf makes a filter of the bits that are set, ascending, each below m.
// Inserted is what Inserted says.
func GeneralizedOf(shape GeneralizedShape, ones []Cell, inserted uint64) (*Generalized, error) {
	if n := len(ones); n > 0 && ones[n-1].Pos >= shape.M {
		return nil, fmt.Errorf("generalized bloom filter: bit %d is set of %s", ones[n-1].Pos, shape)
	}
	if !slices.IsSortedFunc(ones, func(a, b Cell) int { return int(int64(a.Pos) - int64(b.Pos)) }) {
		return nil, errors.New("generalized bloom filter: bits are not in order")
	}
	g, err := NewGeneralized(shape)
	if err != nil {
		return nil, err
	}
	for _, c := range ones {
		g.set(c.Pos)
	}
	g.inserted = inserted
	return g, nil
}
