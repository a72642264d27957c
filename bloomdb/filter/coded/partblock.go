package coded

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

const (
	pageBlocks = 64
	pageBytes  = 32 // of a page without blocks
	blockBytes = 56 // of a partBlock

	indexEvery = 64 // cells from one entry of a block's index to the next
	atOnce     = 16 // positions looked up together
)

// partPage contains the non-empty blocks of a range, in order.
type partPage struct {
	there  uint64 // one bit for each block that is present
	blocks []partBlock
}

// at returns block i of the page, or nil if it has no cells.
func (g *partPage) at(i uint64) *partBlock {
	if g.there>>i&1 == 0 {
		return nil
	}
	return &g.blocks[bits.OnesCount64(g.there&(1<<i-1))]
}

// insert adds an empty block i. Pages grow in small steps, because a part of a small site
// has few blocks in each.
func (g *partPage) insert(i uint64) *partBlock {
	if n := len(g.blocks); n == cap(g.blocks) {
		grown := make([]partBlock, n, min(pageBlocks, n+max(2, n/4)))
		copy(grown, g.blocks)
		g.blocks = grown
	}
	g.blocks = slices.Insert(g.blocks, bits.OnesCount64(g.there&(1<<i-1)), partBlock{})
	g.there |= 1 << i
	return g.at(i)
}

func (g *partPage) bytes() int64 { return int64(cap(g.blocks)) * blockBytes }

// partBlock contains a block's cells: most of them coded, and those that arrived late.
type partBlock struct {
	// code consists of an index and the bits of AppendCells. The index has an entry of 32
	// bits, big-endian, for each 64th cell except the first: the position in the block from
	// which the cell's gap counts, and the bit where the gap begins.
	code []byte

	// late contains cells in order of arrival: for bits, the position in the block; for
	// counts, the position times 16 plus the value, or plus 0 followed by two words of
	// value. A cell that is also in the code, or twice here, has the largest of its values.
	late []uint16

	all uint16 // distinct cells
	n   uint16 // cells in the code
	k   uint8  // Rice parameter of the code
}

func (b *partBlock) empty() bool { return b.n == 0 }

func (b *partBlock) bytes() int64 { return int64(cap(b.code)) + 2*int64(cap(b.late)) }

// entries returns the number of index entries.
func (b *partBlock) entries() int { return max(int(b.n)-1, 0) / indexEvery }

// lateLimit returns how many words of late cells a block may have: a quarter of its code.
func (b *partBlock) lateLimit() int {
	if b.empty() {
		return 0
	}
	return max(8, len(b.code)/8)
}

// withLate returns late with more cells appended, unless there are too many. It does not
// change words that others may be reading.
func (b *partBlock) withLate(cells []filter.Cell, values bool) ([]uint16, bool) {
	need, mask := len(b.late), filter.BlockSize(values)-1
	for _, c := range cells {
		need++
		if c.Value > inPlaceLate {
			need += 2
		}
	}
	if need > b.lateLimit() {
		return nil, false
	}
	late := b.late
	if need > cap(late) {
		late = append(make([]uint16, 0, min(max(need, 8, cap(late)*3/2), b.lateLimit())), late...)
	}
	for _, c := range cells {
		switch pos := uint16(c.Pos & mask); {
		case !values:
			late = append(late, pos)
		case c.Value <= inPlaceLate:
			late = append(late, pos<<4|uint16(c.Value))
		default:
			late = append(late, pos<<4, uint16(c.Value>>16), uint16(c.Value))
		}
	}
	return late, true
}

// inPlaceLate is the largest value stored in one word with its position.
const inPlaceLate = 15

// lateCell reads the late cell at word i, and returns the index of the next one.
func (b *partBlock) lateCell(i int, values bool) (pos uint16, value uint32, next int) {
	w := b.late[i]
	switch {
	case !values:
		return w, 1, i + 1
	case w&15 != 0:
		return w >> 4, uint32(w & 15), i + 1
	default:
		return w >> 4, uint32(b.late[i+1])<<16 | uint32(b.late[i+2]), i + 3
	}
}

// reader decodes the code, starting at cell number 64*group.
func (p *Part) reader(b *partBlock, block uint64, group int) cellReader {
	from, limit := p.bounds(block)
	r := cellReader{k: uint(b.k), values: p.values, left: uint64(b.n), pos: from, limit: limit}
	r.bits.src = b.code[4*b.entries():]
	if group > 0 {
		pos, at := p.entry(b, group-1)
		r.left -= uint64(group * indexEvery)
		r.pos += pos
		r.bits.seek(at)
	}
	return r
}

// entry reads an entry of the index.
func (p *Part) entry(b *partBlock, i int) (pos, at uint64) {
	v := uint64(binary.BigEndian.Uint32(b.code[4*i:]))
	return v >> (32 - p.shift), v & (1<<(32-p.shift) - 1)
}

// group returns the group that contains a position of a block, if any does.
func (p *Part) group(b *partBlock, pos uint64) int {
	lo, hi := 0, b.entries()
	for lo < hi {
		mid := (lo + hi) / 2
		if at, _ := p.entry(b, mid); at <= pos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// read sets values, at most 16, to the cells at ascending positions of one block. With
// untilZero, values after the first zero are undefined.
func (p *Part) read(b *partBlock, block uint64, positions []uint64, values []uint32, untilZero bool) []uint32 {
	from, _ := p.bounds(block)
	p.readLate(b, from, positions, values)
	group := p.group(b, positions[0]-from)
	r := p.reader(b, block, group)
	var c filter.Cell // the last one decoded; none if its value is zero
	for i, pos := range positions {
		if c.Value == 0 || c.Pos < pos {
			if next := p.group(b, pos-from); next > group {
				group = next
				r = p.reader(b, block, group)
			}
			c = r.seek(pos)
		}
		if c.Pos == pos {
			values[i] = max(values[i], c.Value)
		}
		if untilZero && values[i] == 0 {
			break
		}
	}
	return values
}

// readLate sets values to the largest late cell at each position, or 0.
func (p *Part) readLate(b *partBlock, from uint64, positions []uint64, values []uint32) {
	clear(values)
	first := uint16(positions[0] - from)
	span := uint16(positions[len(positions)-1]-from) - first
	for i := 0; i < len(b.late); {
		var pos uint16
		var v uint32
		if pos, v, i = b.lateCell(i, p.values); pos-first > span {
			continue
		}
		for j, want := range positions {
			if uint16(want-from) == pos {
				values[j] = max(values[j], v)
			}
		}
	}
}

// partDecoder codes and decodes whole blocks of a part and reuses its memory.
type partDecoder struct {
	part                   *Part
	old, late, few, joined []filter.Cell
	out                    []byte
}

// newer returns the cells that exceed the block's, and how many of them the block does not
// contain.
func (d *partDecoder) newer(b *partBlock, block uint64, cells []filter.Cell) (fresh uint16, more []filter.Cell) {
	var positions [atOnce]uint64
	var values [atOnce]uint32
	d.few = d.few[:0]
	for chunk := range slices.Chunk(cells, atOnce) {
		for i, c := range chunk {
			positions[i] = c.Pos
		}
		for i, was := range d.part.read(b, block, positions[:len(chunk)], values[:len(chunk)], false) {
			if was == 0 {
				fresh++
			}
			if was < chunk[i].Value {
				d.few = append(d.few, chunk[i])
			}
		}
	}
	return fresh, d.few
}

// coded appends a block's cells except the late ones to dst, ascending.
func (d *partDecoder) coded(b *partBlock, block uint64, dst []filter.Cell) ([]filter.Cell, error) {
	if b.empty() {
		return dst, nil
	}
	had := len(dst)
	r := d.part.reader(b, block, 0)
	dst, err := r.appendTo(dst, r.left)
	if err != nil {
		return dst[:had], fmt.Errorf("block %d: %w", block, err)
	}
	if len(r.bits.rest()) > 0 || !r.bits.isPadded() {
		return dst[:had], fmt.Errorf("block %d: %w", block, errBehind)
	}
	return dst, nil
}

// all appends all cells of a block to dst, ascending.
func (d *partDecoder) all(b *partBlock, block uint64, dst []filter.Cell) ([]filter.Cell, error) {
	if len(b.late) == 0 {
		return d.coded(b, block, dst)
	}
	old, err := d.coded(b, block, d.old[:0])
	if err != nil {
		return dst, err
	}
	d.old = old
	d.sortLate(b, block)
	return join(dst, old, d.late), nil
}

// sortLate sets d.late to the late cells, ascending and distinct.
func (d *partDecoder) sortLate(b *partBlock, block uint64) {
	from, _ := d.part.bounds(block)
	d.late = d.late[:0]
	for i := 0; i < len(b.late); {
		var pos uint16
		var v uint32
		pos, v, i = b.lateCell(i, d.part.values)
		d.late = append(d.late, filter.Cell{Pos: from + uint64(pos), Value: v})
	}
	slices.SortFunc(d.late, func(a, b filter.Cell) int {
		if a.Pos != b.Pos {
			return int(int64(a.Pos - b.Pos))
		}
		return int(b.Value) - int(a.Value) // the largest first: it is kept
	})
	d.late = slices.CompactFunc(d.late, func(a, b filter.Cell) bool { return a.Pos == b.Pos })
}

// encode codes a block again; there is at least one cell.
func (d *partDecoder) encode(cells []filter.Cell, block uint64) partBlock {
	from, _ := d.part.bounds(block)
	b := partBlock{all: uint16(len(cells)), n: uint16(len(cells))}
	k := riceParameter(cells[len(cells)-1].Pos-from+1, uint64(len(cells)))
	b.k = uint8(k)
	index := 4 * b.entries()
	w := bitWriter{dst: slices.Grow(d.out[:0], index)[:index]}
	next := from
	for i := 0; i < len(cells); i += indexEvery {
		if i > 0 {
			d.part.putEntry(w.dst, i/indexEvery-1, next-from, uint64(len(w.dst)-index)*8+uint64(w.n))
		}
		next = w.cells(cells[i:min(i+indexEvery, len(cells))], next, k, d.part.values)
	}
	d.out = w.end()
	b.code = bytes.Clone(d.out)
	return b
}

// putEntry writes entry i of an index.
func (p *Part) putEntry(index []byte, i int, pos, at uint64) {
	binary.BigEndian.PutUint32(index[4*i:], uint32(pos<<(32-p.shift)|at))
}

var errBehind = fmt.Errorf("%w, or followed by further bits", errCells)

// adopt reads a block coded by AppendCells, appends its cells to dst, and returns a block
// with that code. The block is empty if AppendCells would produce a different code.
func (d *partDecoder) adopt(code []byte, block uint64, dst []filter.Cell) (cells []filter.Cell, b partBlock, err error) {
	from, limit := d.part.bounds(block)
	r, err := newCellReader(code, from, limit, d.part.values)
	if err != nil || r.left == 0 {
		return dst, b, err
	}
	b = partBlock{all: uint16(r.left), n: uint16(r.left), k: uint8(r.k)}
	index := 4 * b.entries()
	body := r.bits.src
	b.code = make([]byte, index+len(body))
	copy(b.code[index:], body)
	cells = slices.Grow(dst, int(r.left))
	had := len(dst)
	for r.left > 0 {
		if i := len(cells) - had; i > 0 {
			d.part.putEntry(b.code, i/indexEvery-1, r.pos-from, uint64(r.bits.offset()))
		}
		if cells, err = r.appendTo(cells, min(r.left, indexEvery)); err != nil {
			return dst, b, err
		}
	}
	if len(r.bits.rest()) > 0 {
		return dst, b, errBehind
	}
	n := uint64(len(cells) - had)
	if best := riceParameter(r.pos-from, n); r.k != best || !r.bits.isPadded() {
		return cells, partBlock{}, nil
	}
	return cells, b, nil
}
