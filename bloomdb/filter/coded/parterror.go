package coded

import "github.com/spambloom/spambloom/bloomdb/filter"

const (
	lineWords = uint64(len(filter.Line{}))
	lineBits  = 64 * lineWords
)

// Error returns the probability, measured on the bits held, that a key never added is found
// in a part of a filter of bits of the given shape, like Bits.Error for the whole filter.
// It decodes the whole part, in some 15 ns a bit. It may see part of a concurrent merge.
func (p *Part) Error(s filter.BitsShape) float64 {
	return s.ErrorOf(func(yield func(*filter.Line) bool) {
		var cells []filter.Cell
		var line filter.Line
		for i := range filter.Blocks(p.size, p.values) {
			cells = p.Block(i, cells[:0])
			for n, c := range cells {
				line[c.Pos>>6%lineWords] |= 1 << (c.Pos & 63)
				if n+1 < len(cells) && cells[n+1].Pos/lineBits == c.Pos/lineBits {
					continue
				}
				if !yield(&line) {
					return
				}
				line = filter.Line{}
			}
		}
	})
}
