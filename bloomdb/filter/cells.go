package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Cell is one non-zero cell of a filter: its position and its absolute value,
// which for a bit is 1.
type Cell struct {
	Pos   uint64
	Value uint32
}

// Cells are coded together in blocks: small enough to decode one in some
// microseconds when it is a tenth full (tens of them when it is full), large
// enough that a block's overhead does not show. A block of
// counts is a chunk of the split store; a block of bits is eight times as long,
// since it is decoded for hits only.
const (
	countBlock = 1 << 12
	bitBlock   = 1 << 15
)

// BlockSize is the number of cells of a block, of counts or of bits.
func BlockSize(counts bool) uint64 {
	if counts {
		return countBlock
	}
	return bitBlock
}

// MaxValue is the largest count a cell holds; it stays there.
const MaxValue = 1<<20 - 1

// Blocks is the number of blocks of a filter of size cells.
func Blocks(size uint64, counts bool) uint64 {
	return (size + BlockSize(counts) - 1) / BlockSize(counts)
}

// AppendCells codes cells, which must be ascending and distinct, not before
// base, and have values from 1 to MaxValue: gaps by Rice's code, whose parameter
// is chosen for them; values, when asked for, by Elias' gamma code. Bits
// (values false) take about one bit a position at most. FORMAT.md has the layout.
func AppendCells(dst []byte, base uint64, cells []Cell, values bool) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(cells)))
	if len(cells) == 0 {
		return dst
	}
	k := riceParameter(cells[len(cells)-1].Pos-base+1, uint64(len(cells)))
	w := bitWriter{dst: append(dst, byte(k))}
	next := base
	for _, c := range cells {
		gap := c.Pos - next
		w.unary(gap >> k)
		w.bits(gap&(1<<k-1), k)
		if values {
			w.gamma(c.Value)
		}
		next = c.Pos + 1
	}
	return w.end()
}

// riceParameter is the best k for n gaps that sum to span: near log2 of the
// mean gap times ln 2 (Kiely 2004). It is reckoned in whole numbers, since the
// reader of lines reckons it again.
func riceParameter(span, n uint64) uint {
	return uint(max(bits.Len64(span*69/(n*100)), 1) - 1)
}

var errCells = errors.New("coded cells are cut short")

// DecodeCells appends the cells at the head of data to dst, and returns what
// follows them. Positions are from base to limit-1; anything else is an error.
// No more than len(data)*8 cells can come out.
func DecodeCells(dst []Cell, data []byte, base, limit uint64, values bool) (cells []Cell, rest []byte, err error) {
	r, err := newCellReader(data, base, limit, values)
	if err != nil {
		return dst, nil, err
	}
	for r.left > 0 {
		c, err := r.next()
		if err != nil {
			return dst, nil, err
		}
		dst = append(dst, c)
	}
	return dst, r.bits.rest(), nil
}

// cellReader decodes a list of cells one by one.
type cellReader struct {
	bits   bitReader
	k      uint
	values bool
	left   uint64 // cells to come
	pos    uint64 // least position of the next one
	limit  uint64
}

func newCellReader(data []byte, base, limit uint64, values bool) (r cellReader, err error) {
	n, used := binary.Uvarint(data)
	if used <= 0 {
		return r, errCells
	}
	data = data[used:]
	r = cellReader{values: values, left: n, pos: base, limit: limit, bits: bitReader{src: data}}
	if n == 0 {
		return r, nil
	}
	if n > limit-base || n > uint64(len(data))*8 {
		return r, fmt.Errorf("%d cells coded in %d bytes for %d positions", n, len(data), limit-base)
	}
	if r.k = uint(data[0]); r.k > 40 {
		return r, fmt.Errorf("rice parameter %d, must be at most 40", r.k)
	}
	r.bits.src = data[1:]
	return r, nil
}

// next decodes one cell; left must not be zero.
func (r *cellReader) next() (Cell, error) {
	gap := r.bits.unary()<<r.k | r.bits.bits(r.k)
	if r.bits.short || gap >= r.limit-r.pos {
		return Cell{}, fmt.Errorf("%w or lead beyond position %d", errCells, r.limit)
	}
	c := Cell{Pos: r.pos + gap, Value: 1}
	if r.values {
		if c.Value = r.bits.gamma(); c.Value == 0 {
			return Cell{}, fmt.Errorf("%w or have a value above %d at position %d", errCells, MaxValue, c.Pos)
		}
	}
	r.pos = c.Pos + 1
	r.left--
	return c, nil
}
