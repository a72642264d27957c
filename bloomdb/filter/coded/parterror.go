package coded

import "github.com/spambloom/spambloom/bloomdb/filter"

const lineBits = 64 * uint64(len(filter.Line{}))

// AddLine sets those bits of a line that are in line i of a part of a filter of bits. It decodes
// little more than that line.
func (p *Part) AddLine(i uint64, line *filter.Line) {
	from := i * lineBits
	block := from >> p.shift
	b := p.load(block)
	if b.empty() {
		return
	}
	start, _ := p.bounds(block)
	for n := 0; n < len(b.late); {
		var pos uint16
		if pos, _, n = b.lateCell(n, p.values); (start+uint64(pos))/lineBits == i {
			line.Set(uint64(pos))
		}
	}
	r := p.reader(&b, block, p.group(&b, from-start))
	for c := r.seek(from); c.Value > 0 && c.Pos/lineBits == i; c = r.seek(c.Pos + 1) {
		line.Set(c.Pos)
	}
}

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
				line.Set(c.Pos)
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
