package coded

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// runCells is the most cells that are decoded at a time.
const runCells = 1 << 12

// cellReader decodes a list of cells.
type cellReader struct {
	bits   bitReader
	k      uint
	values bool
	left   uint64 // cells not decoded yet
	pos    uint64 // lowest possible position of the next one
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
		return r, fmt.Errorf("%d cells do not fit in %d bytes or %d positions", n, len(data), limit-base)
	}
	if r.k = uint(data[0]); r.k > 40 {
		return r, fmt.Errorf("rice parameter %d, must be at most 40", r.k)
	}
	r.bits.src = data[1:]
	return r, nil
}

// next decodes one cell; left must not be zero. If it returns false, err returns the
// reason.
func (r *cellReader) next() (filter.Cell, bool) {
	gap := r.bits.rice(r.k)
	if r.bits.short || gap >= r.limit-r.pos {
		return filter.Cell{}, false
	}
	c := filter.Cell{Pos: r.pos + gap, Value: 1}
	if r.values {
		if c.Value = r.bits.gamma(); c.Value == 0 {
			return filter.Cell{}, false
		}
	}
	r.pos = c.Pos + 1
	r.left--
	return c, true
}

// err returns why next found no further cell.
func (r *cellReader) err() error {
	return fmt.Errorf("%w, or exceed position %d or value %d, starting at position %d", errCells, r.limit, filter.MaxValue, r.pos)
}

// appendTo decodes the next n cells, or those left if fewer.
func (r *cellReader) appendTo(dst []filter.Cell, n uint64) ([]filter.Cell, error) {
	for n > 0 {
		// Preallocate no more cells than the available bytes can contain.
		dst = slices.Grow(dst, int(min(n, runCells)))
		got := r.run(dst[len(dst):len(dst)+int(min(n, runCells))], r.limit)
		dst = dst[:len(dst)+got]
		if n -= uint64(got); n == 0 || got == runCells {
			continue
		}
		c, ok := r.next()
		if !ok {
			return dst, r.err()
		}
		dst = append(dst, c)
		n--
	}
	return dst, nil
}

// seek decodes up to the first cell at or after pos. The value of the cell is zero if there
// is none.
func (r *cellReader) seek(pos uint64) filter.Cell {
	var buf [32]filter.Cell
	for r.left > 0 {
		n := r.run(buf[:], pos)
		if n > 0 && buf[n-1].Pos >= pos {
			return buf[n-1]
		}
		if n == len(buf) || r.left == 0 {
			continue
		}
		if c, ok := r.next(); !ok || c.Pos >= pos {
			return c // !ok only in a part coded by this program; Check detects it
		}
	}
	return filter.Cell{}
}

// run is next in a loop that keeps its state in registers. It decodes up to the first cell
// at stop or later, or until dst is full. It leaves irregular codes and the last eight
// bytes to next.
func (r *cellReader) run(dst []filter.Cell, stop uint64) (n int) {
	src, at, acc, have := r.bits.src, r.bits.at, r.bits.acc, r.bits.n
	k, pos, limit, values := r.k, r.pos, r.limit, r.values
	dst = dst[:min(uint64(len(dst)), r.left)]
	for ; n < len(dst) && len(src)-at >= 8 && pos <= stop; n++ {
		acc |= binary.BigEndian.Uint64(src[at:]) >> have
		at += int(64-have) >> 3
		have += (64 - have) &^ 7
		q := uint(bits.LeadingZeros64(^acc))
		used := q + 1 + k
		gap, value := uint64(q)<<(k&63)|top(acc<<((q+1)&63), k), uint64(1)
		if values {
			l := uint(bits.LeadingZeros64(^(acc << (used & 63))))
			value = 1<<(l&63) | top(acc<<((used+l+1)&63), l)
			used += 2*l + 1
		}
		if used > min(have, 63) || gap >= limit-pos || value > filter.MaxValue {
			break
		}
		acc <<= used & 63
		have -= used
		dst[n] = filter.Cell{Pos: pos + gap, Value: uint32(value)}
		pos += gap + 1
	}
	r.bits.at, r.bits.acc, r.bits.n = at, acc, have
	r.pos = pos
	r.left -= uint64(n)
	return n
}

// top returns the top n bits of v, n below 64.
func top(v uint64, n uint) uint64 { return v >> 1 >> ((63 - n) & 63) }
