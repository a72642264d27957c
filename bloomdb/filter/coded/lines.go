package coded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// This file codes the changed cells in a delta. A key's cells are in one or two lines, one
// in each section, so the changes of a line are coded together: its number, how many cells
// changed in each section, and their positions in the section. A new key in a spam filter
// sized by Fit takes about 60 bits, 48 of them for the positions of its eight bits.
// FORMAT.md has the layout.

// lineCode contains the parameters of the code of lines.
type lineCode struct {
	lines    uint64
	sections int  // of a line, at most 16
	section  uint // log2 of a section's cells
	values   bool // cells have values
}

func bitLines(s filter.BitsShape) lineCode {
	n, log2 := s.Sections()
	return lineCode{lines: s.Lines, sections: n, section: log2}
}

func countLines(s filter.CountsShape) lineCode {
	n, log2 := s.Sections()
	return lineCode{lines: s.Lines, sections: n, section: log2, values: true}
}

// AppendLines codes bits of a filter of the given shape. Cells must be ascending and
// distinct, below s.Size(), and of value 1. Any set of bits can be coded, but the code is
// short for the bits of keys.
func AppendLines(dst []byte, s filter.BitsShape, cells []filter.Cell) []byte {
	return bitLines(s).append(dst, cells)
}

// DecodeLines appends the bits at the beginning of code to dst, ascending and distinct, and
// returns the data after them. It returns an error for more than maxCells bits, and for any
// code that AppendLines does not produce for these bits. A bit takes at least five bits of
// code, so the result has at most 1.6 len(code) bits. The shape must be valid.
func DecodeLines(dst []filter.Cell, code []byte, s filter.BitsShape, maxCells int) (cells []filter.Cell, rest []byte, err error) {
	return bitLines(s).decode(dst, code, maxCells)
}

// AppendCountLines is AppendLines for counts, with values from 1 to MaxValue. The changed
// cells of a line often have one value, which is then coded once, because H1 raises all
// cells of a key to the same value.
func AppendCountLines(dst []byte, s filter.CountsShape, cells []filter.Cell) []byte {
	return countLines(s).append(dst, cells)
}

// DecodeCountLines is DecodeLines for counts, with the same bounds.
func DecodeCountLines(dst []filter.Cell, code []byte, s filter.CountsShape, maxCells int) (cells []filter.Cell, rest []byte, err error) {
	return countLines(s).decode(dst, code, maxCells)
}

// shift returns log2 of a line's cells.
func (l lineCode) shift() uint { return l.section + uint(bits.Len(uint(l.sections))) - 1 }

func (l lineCode) append(dst []byte, cells []filter.Cell) []byte {
	n := l.touched(cells)
	dst = binary.AppendUvarint(dst, n)
	if n == 0 {
		return dst
	}
	k := riceParameter(cells[len(cells)-1].Pos>>l.shift()+1, n)
	w := bitWriter{dst: append(dst, byte(k))}
	for next := uint64(0); len(cells) > 0; {
		line := cells[0].Pos >> l.shift()
		in := 1
		for in < len(cells) && cells[in].Pos>>l.shift() == line {
			in++
		}
		w.rice(line-next, k)
		l.appendLine(&w, cells[:in])
		next, cells = line+1, cells[in:]
	}
	return w.end()
}

// touched returns the number of lines that contain cells.
func (l lineCode) touched(cells []filter.Cell) (n uint64) {
	for i, c := range cells {
		if i == 0 || c.Pos>>l.shift() != cells[i-1].Pos>>l.shift() {
			n++
		}
	}
	return n
}

func (l lineCode) appendLine(w *bitWriter, cells []filter.Cell) {
	if l.oneInEach(cells) {
		w.bits(0, 1)
	} else {
		w.bits(1, 1)
		var counts [16]uint64
		for _, c := range cells {
			counts[l.sectionOf(c)]++
		}
		for _, n := range counts[:l.sections] {
			appendCount(w, n)
		}
	}
	for _, c := range cells {
		w.bits(c.Pos&(1<<l.section-1), l.section)
	}
	if l.values {
		appendValues(w, cells)
	}
}

func (l lineCode) sectionOf(c filter.Cell) int { return int(c.Pos>>l.section) & (l.sections - 1) }

func (l lineCode) oneInEach(cells []filter.Cell) bool {
	if len(cells) != l.sections {
		return false
	}
	for i, c := range cells {
		if l.sectionOf(c) != i {
			return false
		}
	}
	return true
}

// appendCount writes a section's number of cells: 1, the most likely, in one bit, 0 in two,
// 2 and more in one more bit each.
func appendCount(w *bitWriter, n uint64) {
	switch n {
	case 0:
		n = 1
	case 1:
		n = 0
	}
	w.unary(n)
}

func readCount(r *bitReader) uint64 {
	switch n := r.unary(); n {
	case 0:
		return 1
	case 1:
		return 0
	default:
		return n
	}
}

// appendValues writes the values of a line's cells, only once if they are all equal.
func appendValues(w *bitWriter, cells []filter.Cell) {
	if sameValue(cells) {
		w.bits(0, 1)
		cells = cells[:1]
	} else {
		w.bits(1, 1)
	}
	for _, c := range cells {
		w.gamma(c.Value)
	}
}

func sameValue(cells []filter.Cell) bool {
	for _, c := range cells[1:] {
		if c.Value != cells[0].Value {
			return false
		}
	}
	return true
}

var (
	errLines = errors.New("coded lines are truncated")
	errValue = fmt.Errorf("a value is truncated or above %d", filter.MaxValue)
)

func (l lineCode) decode(dst []filter.Cell, code []byte, maxCells int) (cells []filter.Cell, rest []byte, err error) {
	n, used := binary.Uvarint(code)
	if used <= 0 || used > 1 && code[used-1] == 0 {
		return dst, nil, errLines
	}
	r := bitReader{src: code[used:]}
	if n == 0 {
		return dst, r.src, nil
	}
	// A line takes at least one bit for its gap, its first bit, and a cell.
	if n > l.lines || n > uint64(maxCells) || n > uint64(len(r.src))*8/uint64(l.section+2) {
		return dst, nil, fmt.Errorf("%d of %d lines, with at most %d cells, do not fit in %d bytes", n, l.lines, maxCells, len(r.src))
	}
	k := r.bits(8)
	if k > 32 {
		return dst, nil, fmt.Errorf("rice parameter %d, must be at most 32", k)
	}
	had := len(dst)
	cells = slices.Grow(dst, min(maxCells, int(n)*l.sections, len(r.src)*8/int(l.section)))
	next := uint64(0)
	for range n {
		gap := r.rice(uint(k))
		if r.short || gap >= l.lines-next {
			return dst, nil, fmt.Errorf("%w or exceed line %d", errLines, l.lines)
		}
		line := next + gap
		next = line + 1
		if cells, err = l.decodeLine(&r, cells, line, maxCells-(len(cells)-had)); err != nil {
			return dst, nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if best := riceParameter(next, n); uint64(best) != k || !r.isPadded() {
		return dst, nil, fmt.Errorf("rice parameter %d, must be %d, or bits after the last line", k, best)
	}
	return cells, r.rest(), nil
}

// decodeLine appends a line's cells, at most room of them.
func (l lineCode) decodeLine(r *bitReader, cells []filter.Cell, line uint64, room int) ([]filter.Cell, error) {
	counts, n, err := l.readCounts(r)
	if err != nil {
		return cells, err
	}
	if n > uint64(room) {
		return cells, fmt.Errorf("%d cells, limit %d", n, room)
	}
	at := len(cells)
	for j, n := range counts[:l.sections] {
		next := line<<l.shift() | uint64(j)<<l.section
		for range n {
			pos := line<<l.shift() | uint64(j)<<l.section | r.bits(l.section)
			if pos < next {
				return cells, fmt.Errorf("cell %d is not ascending", pos)
			}
			cells = append(cells, filter.Cell{Pos: pos, Value: 1})
			next = pos + 1
		}
	}
	if l.values {
		err = readValues(r, cells[at:])
	}
	if r.short {
		return cells, errLines
	}
	return cells, err
}

// readCounts reads the number of cells in each section of a line, and returns their sum.
func (l lineCode) readCounts(r *bitReader) (counts [16]uint64, n uint64, err error) {
	if r.bits(1) == 0 {
		for j := range l.sections {
			counts[j] = 1
		}
		return counts, uint64(l.sections), nil
	}
	ones := 0
	for j := range l.sections {
		if counts[j] = readCount(r); counts[j] > 1<<l.section {
			return counts, 0, fmt.Errorf("%d cells in section %d", counts[j], j)
		}
		if n += counts[j]; counts[j] == 1 {
			ones++
		}
	}
	if n == 0 || ones == l.sections {
		return counts, 0, fmt.Errorf("%d cells, not coded in the shortest form", n)
	}
	return counts, n, nil
}

// readValues reads the values of a line's cells.
func readValues(r *bitReader, cells []filter.Cell) error {
	if r.bits(1) == 0 {
		v := r.gamma()
		if v == 0 {
			return errValue
		}
		for i := range cells {
			cells[i].Value = v
		}
	} else {
		for i := range cells {
			if cells[i].Value = r.gamma(); cells[i].Value == 0 {
				return errValue
			}
		}
		if sameValue(cells) {
			return fmt.Errorf("%d equal values, not coded in the shortest form", len(cells))
		}
	}
	return nil
}
