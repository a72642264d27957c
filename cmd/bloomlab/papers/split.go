package papers

import (
	"fmt"
	"math"
	"math/bits"
)

// SplitShape is the geometry of a Split store.
type SplitShape struct {
	Cells  uint64 // m
	Bits   int    // s: value bits of a cell in the base filter, 1 to 16
	Chunks uint64 // N: 1, or chunks of 256 to 2^24 cells

	// Limit is the largest count; a cell that reaches it keeps it. 0: Largest, the
	// largest count that fits an entry of a table, so that all counts up to it are
	// exact.
	Limit uint32
}

// Valid returns an error for a shape out of bounds.
func (s SplitShape) Valid() error {
	if s.Bits < 1 || s.Bits > 16 {
		return fmt.Errorf("s is %d bits, must be 1 to 16", s.Bits)
	}
	if s.Cells < 1 || s.Cells > maxPositions/uint64(s.Bits+1) {
		return fmt.Errorf("m is %d, must be 1 to %d", s.Cells, maxPositions/(s.Bits+1))
	}
	if most := max(1, s.Cells/256); s.Chunks < 1 || s.Chunks > most {
		return fmt.Errorf("%d chunks (N), must be 1 to %d for m = %d", s.Chunks, most, s.Cells)
	}
	if s.chunk() > 1<<24 {
		return fmt.Errorf("%d chunks (N) of %d cells each, must be at most %d", s.Chunks, s.chunk(), 1<<24)
	}
	if s.Limit > s.Largest() {
		return fmt.Errorf("limit is %d, must be at most %d", s.Limit, s.Largest())
	}
	return nil
}

// chunk is the number of cells of a chunk.
func (s SplitShape) chunk() uint64 { return (s.Cells + s.Chunks - 1) / s.Chunks }

// offsetBits is the index size of a table, ceil(log2(m/N)).
func (s SplitShape) offsetBits() int { return bits.Len64(s.chunk() - 1) }

// Largest is the count that fits s bits in the base and the 32-ceil(log2(m/N))
// bits that a table's entry of 32 bits has beside the index.
func (s SplitShape) Largest() uint32 {
	return uint32(min(uint64(1)<<(32-s.offsetBits()+s.Bits)-1, math.MaxUint32))
}

// Split is Yan & Cho's split store (section IV, "another innovation"): a base
// filter of m cells of s+1 bits, s of the value and a flag. If the flag is set, the
// value's higher bits are in the hash table of the cell's chunk, under the cell's
// offset in it. The paper's "largest small count not larger than 2^s"
// is off by one: s bits hold 2^s-1. Memory is (s+1)*m bits and 32 bits for each
// slot of the N tables, which are between three eighths and three quarters full.
// The program's own store, filter.Counts, has an escape value instead of the flag, and
// takes less memory for the counts of mail.
//
// Reads may run concurrently with each other, but not with a write.
type Split struct {
	shape  SplitShape
	chunk  uint64 // cells of a chunk
	index  int    // bits of an offset in a table's entry
	base   *Flat
	tables []rests
	max    uint32
}

// NewSplit makes an empty store.
func NewSplit(shape SplitShape) (*Split, error) {
	if err := shape.Valid(); err != nil {
		return nil, fmt.Errorf("split store: %w", err)
	}
	base, err := NewFlat(shape.Cells, shape.Bits+1)
	if err != nil {
		return nil, fmt.Errorf("split store: base: %w", err)
	}
	s := &Split{
		shape: shape, chunk: shape.chunk(), index: shape.offsetBits(),
		base: base, tables: make([]rests, shape.Chunks), max: shape.Limit,
	}
	if s.max == 0 {
		s.max = shape.Largest()
	}
	return s, nil
}

// Size is m.
func (s *Split) Size() uint64 { return s.shape.Cells }

// Max is the largest count that a cell takes.
func (s *Split) Max() uint32 { return s.max }

// Bytes is the memory of base and tables.
func (s *Split) Bytes() int64 {
	const header = 32 // of a table
	sum := s.base.Bytes() + header*int64(len(s.tables))
	for i := range s.tables {
		sum += int64(len(s.tables[i].slots)) * 4
	}
	return sum
}

// Overflowed is the number of cells whose count does not fit s bits.
func (s *Split) Overflowed() int {
	n := 0
	for i := range s.tables {
		n += s.tables[i].n
	}
	return n
}

// Cell reads the cell at pos < m.
func (s *Split) Cell(pos uint64) uint32 {
	v, flag := s.base.Cell(pos), uint32(1)<<s.shape.Bits
	if v&flag == 0 {
		return v
	}
	table, offset := s.table(pos)
	return v&^flag | table.get(offset, s.index)<<s.shape.Bits
}

// SetCell writes v <= Max to the cell at pos < m.
func (s *Split) SetCell(pos uint64, v uint32) {
	flag := uint32(1) << s.shape.Bits
	low, rest := v&(flag-1), v>>s.shape.Bits
	switch {
	case rest > 0:
		table, offset := s.table(pos)
		table.put(offset, rest, s.index)
		low |= flag
	case s.base.Cell(pos)&flag != 0:
		table, offset := s.table(pos)
		table.remove(offset, s.index)
	}
	s.base.SetCell(pos, low)
}

func (s *Split) table(pos uint64) (table *rests, offset uint32) {
	return &s.tables[pos/s.chunk], uint32(pos % s.chunk)
}

// Reset sets all cells to zero and gives the tables back.
func (s *Split) Reset() {
	s.base.Reset()
	clear(s.tables)
}

// rests is a chunk's table: by the cell's offset, what of its count does not fit
// the base. Open addressing; a slot is the rest, never zero, above the offset's
// bits, and zero where it is free.
type rests struct {
	n     int
	slots []uint32
}

// find is the slot of an offset, or the free one where it would stand. There
// must be a free one.
func (t *rests) find(offset uint32, width int) int {
	mask := len(t.slots) - 1
	i := t.home(offset)
	for t.slots[i] != 0 && t.slots[i]&(1<<width-1) != offset {
		i = (i + 1) & mask
	}
	return i
}

// home is the slot where the search for an offset begins.
func (t *rests) home(offset uint32) int {
	return int(uint64(offset*0x9E3779B1) * uint64(len(t.slots)) >> 32)
}

// get is the rest of an offset that is there.
func (t *rests) get(offset uint32, width int) uint32 {
	return t.slots[t.find(offset, width)] >> width
}

func (t *rests) put(offset, rest uint32, width int) {
	if (t.n+1)*4 > len(t.slots)*3 {
		t.grow(width)
	}
	i := t.find(offset, width)
	if t.slots[i] == 0 {
		t.n++
	}
	t.slots[i] = rest<<width | offset
}

// grow moves all to a table of twice the size, at least 4.
func (t *rests) grow(width int) {
	old := t.slots
	t.slots = make([]uint32, max(4, 2*len(old)))
	for _, v := range old {
		if v != 0 {
			t.slots[t.find(v&(1<<width-1), width)] = v
		}
	}
}

// remove takes an offset that is there out, and moves those behind it up, so
// that a search finds them (Knuth, vol. 3, section 6.4, algorithm R).
func (t *rests) remove(offset uint32, width int) {
	mask := len(t.slots) - 1
	hole := t.find(offset, width)
	for i := (hole + 1) & mask; t.slots[i] != 0; i = (i + 1) & mask {
		home := t.home(t.slots[i] & (1<<width - 1))
		if (i-home)&mask >= (i-hole)&mask {
			t.slots[hole], hole = t.slots[i], i
		}
	}
	t.slots[hole] = 0
	t.n--
}
