package filter

import "math"

// Error returns the probability, measured on the bits held, that a key never added is found
// in a part of a filter of bits of the given shape, like Bits.Error for the whole filter.
// It decodes the whole part, in some 15 ns a bit. It may see part of a concurrent merge.
func (p *Part) Error(s BitsShape) float64 {
	b := Bits{shape: s}
	sum := 0.0
	var cells []Cell
	var line [lineWords]uint64
	for i := range Blocks(p.size, p.values) {
		cells = p.Block(i, cells[:0])
		for n, c := range cells {
			line[c.Pos>>6%lineWords] |= 1 << (c.Pos & 63)
			if n+1 == len(cells) || cells[n+1].Pos/lineBits != c.Pos/lineBits {
				sum += b.lineError(&line)
				line = [lineWords]uint64{}
			}
		}
	}
	return math.Pow(sum/float64(s.Lines), float64(s.span()))
}
