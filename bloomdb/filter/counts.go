package filter

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	countK      = 4   // cells a key
	lineCells   = 128 // 4-bit cells of a line
	wordCells   = 16
	inPlace     = 14   // largest value a cell holds itself
	escape      = 15   // the cell's value stands in the chunk's overflow table
	maxOverflow = 512  // overflow entries a chunk; bounds the store to three times its base
	stripes     = 1024 // locks
	chunkLines  = countBlock / lineCells
)

// CountsShape is the geometry of a Counts filter.
type CountsShape struct {
	Lines uint64 // 64-byte lines of 128 cells
}

// Valid says what is wrong with a shape from outside.
func (s CountsShape) Valid() error {
	if s.Lines < 1 || s.Lines > MaxLines {
		return fmt.Errorf("%d lines, must be 1 to %d", s.Lines, MaxLines)
	}
	return nil
}

// Size is m, the number of cells.
func (s CountsShape) Size() uint64 { return s.Lines * lineCells }

// SizeCounts is the shape for n distinct keys: eight cells a key. Of n such keys
// about 0.8 % are then counted too high, by one mostly, of absent ones 3 % are
// counted, and none is counted too low.
func SizeCounts(n float64) CountsShape {
	lines := uint64(n*8/lineCells) + 1
	lines = (lines + chunkLines - 1) / chunkLines * chunkLines
	return CountsShape{Lines: min(lines, MaxLines)}
}

// Positions are a key's four cells, all in one line, each in a quarter of its
// own: they are always distinct (heuristic H2, Yan & Cho section 3).
func (s CountsShape) Positions(h Hash) [countK]uint64 {
	line := reduce(h[0], s.Lines) * lineCells
	var p [countK]uint64
	for j := range p {
		p[j] = line + uint64(j)*(lineCells/countK) + h[1]>>(5*j)&31
	}
	return p
}

// Counts is the refined counting filter (Yan & Cho section 3, heuristics H1 and
// H2; H1 is also known as conservative update) in a split store: 4-bit cells
// hold 0 to 14 themselves; 15 says that the value stands in the overflow table
// of the cell's chunk of 4,096 cells. The paper's 3+1 bits are one flag bit; an
// escape value takes less memory. Add and Raise lock the chunk, Count takes no
// lock. A count is never too low, as long as no chunk has more than 512 cells
// above 14; beyond that the cells of that chunk stay at 14, and Saturated
// counts them.
type Counts struct {
	shape     CountsShape
	mem       *words
	tables    []atomic.Pointer[overflow]
	locks     []paddedMutex
	used      atomic.Int64 // cells above zero
	entries   atomic.Int64 // words of overflow tables
	saturated atomic.Int64
	changes   atomic.Int64
}

type paddedMutex struct {
	sync.Mutex
	_ [56]byte // one cache line each
}

// NewCounts makes an empty filter.
func NewCounts(shape CountsShape) (*Counts, error) {
	if err := shape.Valid(); err != nil {
		return nil, err
	}
	mem, err := newWords(shape.Lines * lineWords)
	if err != nil {
		return nil, err
	}
	return &Counts{
		shape:  shape,
		mem:    mem,
		tables: make([]atomic.Pointer[overflow], Blocks(shape.Size(), true)),
		locks:  make([]paddedMutex, stripes),
	}, nil
}

// Shape returns the geometry.
func (c *Counts) Shape() CountsShape { return c.shape }

// Used is the number of cells above zero.
func (c *Counts) Used() int64 { return c.used.Load() }

// Saturated is how many raises were lost to a full overflow table.
func (c *Counts) Saturated() int64 { return c.saturated.Load() }

// Changes grows whenever a cell has changed.
func (c *Counts) Changes() int64 { return c.changes.Load() }

// Bytes is the memory held: base, table pointers and overflow tables.
func (c *Counts) Bytes() int64 {
	return int64(c.shape.Lines)*lineWords*8 + int64(len(c.tables))*8 + c.entries.Load()*4
}

// Add counts a key d more times and returns its new count t: all its cells that
// are below t = count+d are raised to t (H1). For every key Count is then at
// least the number of its adds.
func (c *Counts) Add(h Hash, d uint32) (t uint32) {
	p := c.shape.Positions(h)
	mu := c.lock(p[0])
	defer mu.Unlock()
	t = min(c.min(p)+d, MaxValue)
	c.raise(p, t)
	return t
}

// Raise makes a key's count at least t. It is what Add did, told again: doing
// it twice, or after later Adds, changes nothing.
func (c *Counts) Raise(h Hash, t uint32) {
	p := c.shape.Positions(h)
	mu := c.lock(p[0])
	defer mu.Unlock()
	c.raise(p, min(t, MaxValue))
}

// RaiseCell joins one cell, pos < Shape().Size(): it becomes at least t.
func (c *Counts) RaiseCell(pos uint64, t uint32) {
	mu := c.lock(pos)
	defer mu.Unlock()
	if c.Cell(pos) < t {
		c.changes.Add(1)
		c.store(pos, min(t, MaxValue))
	}
}

// Count is the least of a key's cells.
func (c *Counts) Count(h Hash) uint32 { return c.min(c.shape.Positions(h)) }

func (c *Counts) lock(pos uint64) *sync.Mutex {
	mu := &c.locks[pos/countBlock%stripes].Mutex
	mu.Lock()
	return mu
}

func (c *Counts) min(p [countK]uint64) uint32 {
	return min(c.Cell(p[0]), c.Cell(p[1]), c.Cell(p[2]), c.Cell(p[3]))
}

func (c *Counts) raise(p [countK]uint64, t uint32) {
	c.changes.Add(1)
	for _, pos := range p {
		if c.Cell(pos) < t {
			c.store(pos, t)
		}
	}
}

// Cell reads one cell, pos < Shape().Size().
func (c *Counts) Cell(pos uint64) uint32 {
	defer runtime.KeepAlive(c.mem)
	v := uint32(atomic.LoadUint64(&c.mem.w[pos/wordCells])>>(pos%wordCells*4)) & 15
	if v < escape {
		return v
	}
	return c.tables[pos/countBlock].Load().get(uint32(pos % countBlock))
}

// store writes a cell; the chunk is locked. The overflow entry is written before
// the cell says that there is one, so that a reader never misses it.
func (c *Counts) store(pos uint64, v uint32) {
	defer runtime.KeepAlive(c.mem)
	code := uint64(v)
	if v > inPlace {
		code = escape
		if !c.spill(pos, v) {
			c.saturated.Add(1)
			code = inPlace
		}
	}
	w, shift := &c.mem.w[pos/wordCells], pos%wordCells*4
	old := atomic.LoadUint64(w)
	if old>>shift&15 == 0 {
		c.used.Add(1)
	}
	atomic.StoreUint64(w, old&^(15<<shift)|code<<shift)
}

// spill puts a value above 14 into the chunk's table, which grows by copying.
func (c *Counts) spill(pos uint64, v uint32) bool {
	table := &c.tables[pos/countBlock]
	t, offset := table.Load(), uint32(pos%countBlock)
	if t != nil && t.replace(offset, v) {
		return true
	}
	if t != nil && t.n >= maxOverflow {
		return false
	}
	if t == nil || (t.n+1)*4 > len(t.slots)*3 {
		grown := t.grow()
		c.entries.Add(int64(len(grown.slots)))
		if t != nil {
			c.entries.Add(-int64(len(t.slots)))
		}
		t = grown
	}
	t.insert(offset, v)
	table.Store(t)
	return true
}

// Block appends the non-zero cells of block i, ascending, as they stand at one
// moment.
func (c *Counts) Block(i uint64, dst []Cell) []Cell {
	from := i * countBlock
	mu := c.lock(from)
	defer mu.Unlock()
	defer runtime.KeepAlive(c.mem)
	to := min(from+countBlock, c.shape.Size())
	for word := from / wordCells; word < to/wordCells; word++ {
		for w := atomic.LoadUint64(&c.mem.w[word]); w != 0; {
			j := uint64(bits.TrailingZeros64(w)) / 4
			pos := word*wordCells + j
			dst = append(dst, Cell{Pos: pos, Value: c.Cell(pos)})
			w &^= 15 << (4 * j)
		}
	}
	return dst
}

// overflow is a chunk's table of values above 14: open addressing, a slot is a
// 12-bit offset and the whole 20-bit value; zero is empty. One writer, who holds
// the chunk's lock, and readers without.
type overflow struct {
	n     int
	slots []uint32
}

const valueBits = 20

func (t *overflow) slot(offset uint32) uint32 {
	return offset * 0x9E3779B1 >> (32 - uint(bits.TrailingZeros(uint(len(t.slots)))))
}

func (t *overflow) get(offset uint32) uint32 {
	for i, mask := t.slot(offset), uint32(len(t.slots)-1); ; i = (i + 1) & mask {
		v := atomic.LoadUint32(&t.slots[i])
		if v == 0 {
			return inPlace // not reached: the entry is written before its cell's code
		}
		if v>>valueBits == offset {
			return v & MaxValue
		}
	}
}

// replace sets the value of an offset that is there.
func (t *overflow) replace(offset, v uint32) bool {
	for i, mask := t.slot(offset), uint32(len(t.slots)-1); t.slots[i] != 0; i = (i + 1) & mask {
		if t.slots[i]>>valueBits == offset {
			atomic.StoreUint32(&t.slots[i], offset<<valueBits|v)
			return true
		}
	}
	return false
}

// insert adds an offset that is not there; a slot must be free.
func (t *overflow) insert(offset, v uint32) {
	i, mask := t.slot(offset), uint32(len(t.slots)-1)
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	atomic.StoreUint32(&t.slots[i], offset<<valueBits|v)
	t.n++
}

// grow copies to a table of twice the size; a nil table becomes one of 8 slots.
func (t *overflow) grow() *overflow {
	if t == nil {
		return &overflow{slots: make([]uint32, 8)}
	}
	g := &overflow{slots: make([]uint32, 2*len(t.slots))}
	for _, v := range t.slots {
		if v != 0 {
			g.insert(v>>valueBits, v&MaxValue)
		}
	}
	return g
}
