package filter

import (
	"encoding/binary"
	"errors"

	"math/bits"
)

// Cell is one non-zero cell of a filter: its position and its absolute value, which is 1
// for a bit.
type Cell struct {
	Pos   uint64
	Value uint32
}

// Cells are coded in blocks. A block is small enough to be decoded in some microseconds
// when it is a tenth full (tens of them when it is full), and large enough to make its
// overhead negligible. A block of counts is a chunk of the split store. A block of bits is
// eight times as long, because it is decoded only for hits.
const (
	countBlock = 1 << 12
	bitBlock   = 1 << 15
)

// BlockSize returns the number of cells of a block, of counts or of bits.
func BlockSize(counts bool) uint64 {
	if counts {
		return countBlock
	}
	return bitBlock
}

// MaxValue is the largest count of a cell. Larger counts are stored as MaxValue.
const MaxValue = 1<<20 - 1

// Blocks returns the number of blocks of a filter of size cells.
func Blocks(size uint64, counts bool) uint64 {
	return (size + BlockSize(counts) - 1) / BlockSize(counts)
}

// AppendCells codes cells, which must be ascending and distinct, at base or above, with
// values from 1 to MaxValue. Gaps use Rice's code, with a parameter chosen for them;
// values, if requested, use Elias' gamma code. Bits (values false) take at most about one
// bit a position. FORMAT.md has the layout.
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

// riceParameter returns the best k for n gaps that sum to span: near log2 of the mean gap
// times ln 2 (Kiely 2004). It uses integers only, because the reader of lines computes it
// again.
func riceParameter(span, n uint64) uint {
	return uint(max(bits.Len64(span*69/(n*100)), 1) - 1)
}

var errCells = errors.New("coded cells are truncated")

// DecodeCells appends the cells at the beginning of data to dst, and returns the data after
// them. A position outside base to limit-1 is an error. The result has at most len(data)*8
// cells.
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
