package filter

import (
	"encoding/binary"
	"errors"

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
	w.cells(cells, base, k, values)
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
	if cells, err = r.appendTo(dst, r.left); err != nil {
		return dst, nil, err
	}
	return cells, r.bits.rest(), nil
}
