package papers

import (
	"encoding/binary"
	"fmt"
)

// Flat holds m cells of b bits each, packed without gaps: m*b bits of memory. A
// cell holds 0 to 2^b-1 and stays there (Yan & Cho section IV: 5 bits, "if a
// count ever exceeds 31, we can simply let it stay at 31").
//
// Reads may run concurrently with each other, but not with a write.
type Flat struct {
	m     uint64
	width uint64 // b
	max   uint32
	data  []byte // with 8 bytes more, so that every cell lies in a load of 8
}

// NewFlat makes m cells of width bits, 1 to 32; m*width is at most maxPositions.
func NewFlat(m uint64, width int) (*Flat, error) {
	if width < 1 || width > 32 {
		return nil, fmt.Errorf("flat cells: width is %d bits, must be 1 to 32", width)
	}
	if m < 1 || m > maxPositions/uint64(width) {
		return nil, fmt.Errorf("flat cells of %d bits: m is %d, must be 1 to %d", width, m, maxPositions/width)
	}
	w := uint64(width)
	return &Flat{m: m, width: w, max: uint32(1<<w - 1), data: make([]byte, (m*w+7)/8+8)}, nil
}

// Size is m.
func (f *Flat) Size() uint64 { return f.m }

// Max is 2^b-1.
func (f *Flat) Max() uint32 { return f.max }

// Bytes is the memory of the cells.
func (f *Flat) Bytes() int64 { return int64(len(f.data)) }

// Cell reads the cell at pos < m.
func (f *Flat) Cell(pos uint64) uint32 {
	bit := pos * f.width
	at := bit >> 3
	return uint32(binary.LittleEndian.Uint64(f.data[at:at+8])>>(bit&7)) & f.max
}

// SetCell writes v <= Max to the cell at pos < m.
func (f *Flat) SetCell(pos uint64, v uint32) {
	bit := pos * f.width
	at, shift := bit>>3, bit&7
	eight := f.data[at : at+8]
	rest := binary.LittleEndian.Uint64(eight) &^ (uint64(f.max) << shift)
	binary.LittleEndian.PutUint64(eight, rest|uint64(v)<<shift)
}

// Reset sets all cells to zero.
func (f *Flat) Reset() { clear(f.data) }
