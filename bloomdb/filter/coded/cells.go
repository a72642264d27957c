package coded

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// AppendCells codes cells, which must be ascending and distinct, at base or above, with
// values from 1 to MaxValue. Gaps use Rice's code, with a parameter chosen for them;
// values, if requested, use Elias' gamma code. Bits (values false) take at most about one
// bit a position. FORMAT.md has the layout.
func AppendCells(dst []byte, base uint64, cells []filter.Cell, values bool) []byte {
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
func DecodeCells(dst []filter.Cell, data []byte, base, limit uint64, values bool) (cells []filter.Cell, rest []byte, err error) {
	r, err := newCellReader(data, base, limit, values)
	if err != nil {
		return dst, nil, err
	}
	if cells, err = r.appendTo(dst, r.left); err != nil {
		return dst, nil, err
	}
	return cells, r.bits.rest(), nil
}
