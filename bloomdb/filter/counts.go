package filter

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	countK     = 4   // cells a key
	lineCells  = 128 // 4-bit cells of a line
	wordCells  = 16
	inPlace    = 14   // largest value stored in the cell itself
	escape     = 15   // the cell's value is in the chunk's overflow table
	stripes    = 1024 // locks
	chunkLines = countBlock / lineCells
)

// CountsShape is the geometry of a Counts filter.
type CountsShape struct {
	Lines uint64 // 64-byte lines of 128 cells
}

// Valid returns an error for an invalid shape from outside.
func (s CountsShape) Valid() error {
	if s.Lines < 1 || s.Lines > MaxLines {
		return fmt.Errorf("%d lines, must be 1 to %d", s.Lines, MaxLines)
	}
	return nil
}

// Size returns m, the number of cells.
func (s CountsShape) Size() uint64 { return s.Lines * lineCells }

// Sections returns the number of sections of a line, which are the quarters with one cell of
// each key, and log2 of the cells of each.
func (s CountsShape) Sections() (n int, log2 uint) { return countK, 5 }

// SizeCounts returns the shape for n distinct keys: eight cells a key. About 0.8 % of n
// such keys are then counted too high, mostly by one; 3 % of absent keys have a count; no
// key is counted too low.
func SizeCounts(n float64) CountsShape {
	lines := uint64(n*8/lineCells) + 1
	lines = (lines + chunkLines - 1) / chunkLines * chunkLines
	return CountsShape{Lines: min(lines, MaxLines)}
}

// Positions returns a key's four cells, all in one line and each in its own quarter, so
// that they are always distinct (heuristic H2, Yan & Cho section 3).
func (s CountsShape) Positions(h Hash) [countK]uint64 {
	return cellsOf(Reduce(h[0], s.Lines), h[1])
}

// cellsOf returns the four cells that a lane selects in a line.
func cellsOf(line, lane uint64) (p [countK]uint64) {
	for j := range p {
		p[j] = line*lineCells + uint64(j)*(lineCells/countK) + lane>>(5*j)&31
	}
	return p
}

// Counts is the refined counting filter (Yan & Cho section 3, heuristics H1 and H2; H1 is
// also known as conservative update) in a split store. 4-bit cells hold 0 to 14 themselves;
// 15 means that the value is in the overflow table of the cell's chunk of 4,096 cells. The
// paper uses 3+1 bits with one flag bit; an escape value takes less memory.
//
// Add and Raise lock the chunk, Count takes no lock. A count is never too low as long as no
// chunk has more than 512 cells above 14. Beyond that the cells of that chunk stay at 14,
// and Saturated counts them.
type Counts struct {
	shape   CountsShape
	mem     *words
	tables  []atomic.Pointer[overflow]
	stripes []stripe
}

// stripe guards every 1,024th chunk and contains the totals of those chunks. It has a cache
// line of its own.
type stripe struct {
	sync.Mutex
	used      int64 // cells above zero
	entries   int64 // words of overflow tables
	saturated int64
	changes   int64
	_         [24]byte
}

// NewCounts returns an empty filter.
func NewCounts(shape CountsShape) (*Counts, error) {
	if err := shape.Valid(); err != nil {
		return nil, err
	}
	mem, err := newWords(shape.Lines * lineWords)
	if err != nil {
		return nil, err
	}
	return &Counts{
		shape:   shape,
		mem:     mem,
		tables:  make([]atomic.Pointer[overflow], Blocks(shape.Size(), true)),
		stripes: make([]stripe, stripes),
	}, nil
}

// Shape returns the geometry.
func (c *Counts) Shape() CountsShape { return c.shape }

// Used returns the number of cells above zero.
func (c *Counts) Used() int64 { return c.sum(func(s *stripe) int64 { return s.used }) }

// Saturated returns how many raises were lost to a full overflow table.
func (c *Counts) Saturated() int64 { return c.sum(func(s *stripe) int64 { return s.saturated }) }

// Changes returns a number that grows with every change of a cell.
func (c *Counts) Changes() int64 { return c.sum(func(s *stripe) int64 { return s.changes }) }

// Bytes returns the memory held: base, table pointers and overflow tables.
func (c *Counts) Bytes() int64 {
	entries := c.sum(func(s *stripe) int64 { return s.entries })
	return int64(c.shape.Lines)*lineWords*8 + int64(len(c.tables))*8 + entries*4
}

// sum locks each stripe in turn, which takes some tens of microseconds in all.
func (c *Counts) sum(of func(*stripe) int64) int64 {
	total := int64(0)
	for i := range c.stripes {
		s := &c.stripes[i]
		s.Lock()
		total += of(s)
		s.Unlock()
	}
	return total
}

// Add counts a key d more times and returns its new count t. It raises all cells of the key
// that are below t = count+d to t (H1). A key's Count is therefore never below its number
// of adds.
func (c *Counts) Add(h Hash, d uint32) (t uint32) { return c.add(h[0], h[1], d) }

func (c *Counts) add(h0, h1 uint64, d uint32) (t uint32) {
	line := Reduce(h0, c.shape.Lines)
	s := c.lock(line * lineCells)
	defer s.Unlock()
	least, most := c.codes(line, h1)
	if t = least + min(d, MaxValue); t <= inPlace && most < escape {
		c.raiseInPlace(s, line, h1, t)
		return t
	}
	p := cellsOf(line, h1)
	t = min(c.min(p)+min(d, MaxValue), MaxValue)
	c.raise(s, p, t)
	return t
}

// Raise makes a key's count at least t. It repeats the effect of an Add: doing so twice, or
// after later Adds, changes nothing.
func (c *Counts) Raise(h Hash, t uint32) {
	p := c.shape.Positions(h)
	s := c.lock(p[0])
	defer s.Unlock()
	c.raise(s, p, min(t, MaxValue))
}

// RaiseCell joins one cell, pos < Shape().Size(): its value becomes at least t.
func (c *Counts) RaiseCell(pos uint64, t uint32) {
	s := c.lock(pos)
	defer s.Unlock()
	if c.Cell(pos) < t {
		s.changes++
		c.store(s, pos, min(t, MaxValue))
	}
}

// Count returns the least of a key's cells.
func (c *Counts) Count(h Hash) uint32 { return c.count(h[0], h[1]) }

func (c *Counts) count(h0, h1 uint64) uint32 {
	line := Reduce(h0, c.shape.Lines)
	least, most := c.codes(line, h1)
	if most < escape {
		return least
	}
	return c.min(cellsOf(line, h1))
}

func (c *Counts) lock(pos uint64) *stripe {
	s := &c.stripes[pos/countBlock%stripes]
	s.Lock()
	return s
}

func (c *Counts) line(i uint64) *[lineWords]uint64 {
	return (*[lineWords]uint64)(c.mem.w[i*lineWords:])
}

// codes returns the least and the greatest of the four codes that a lane selects in a line.
// A code below 15 is the cell's value.
func (c *Counts) codes(line, lane uint64) (least, most uint32) {
	w := c.line(line)
	v0 := uint32(atomic.LoadUint64(&w[lane>>4&1])>>(lane%16*4)) & 15
	v1 := uint32(atomic.LoadUint64(&w[2+lane>>9&1])>>(lane>>5%16*4)) & 15
	v2 := uint32(atomic.LoadUint64(&w[4+lane>>14&1])>>(lane>>10%16*4)) & 15
	v3 := uint32(atomic.LoadUint64(&w[6+lane>>19&1])>>(lane>>15%16*4)) & 15
	runtime.KeepAlive(c.mem)
	return min(v0, v1, v2, v3), max(v0, v1, v2, v3)
}

// raiseInPlace is raise for t up to 14 and cells that have not overflowed.
func (c *Counts) raiseInPlace(s *stripe, line, lane uint64, t uint32) {
	defer runtime.KeepAlive(c.mem)
	words := c.line(line)
	s.changes++
	for j := range countK {
		w, shift := &words[2*j+int(lane>>4&1)], lane%16*4
		old := atomic.LoadUint64(w)
		if v := old >> shift & 15; v < uint64(t) {
			if v == 0 {
				s.used++
			}
			atomic.StoreUint64(w, old&^(15<<shift)|uint64(t)<<shift)
		}
		lane >>= 5
	}
}

func (c *Counts) min(p [countK]uint64) uint32 {
	return min(c.Cell(p[0]), c.Cell(p[1]), c.Cell(p[2]), c.Cell(p[3]))
}

func (c *Counts) raise(s *stripe, p [countK]uint64, t uint32) {
	s.changes++
	for _, pos := range p {
		if c.Cell(pos) < t {
			c.store(s, pos, t)
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

// store writes a cell of a locked stripe. It writes the overflow entry before the cell
// refers to it, so that a reader never misses it.
func (c *Counts) store(s *stripe, pos uint64, v uint32) {
	defer runtime.KeepAlive(c.mem)
	code := uint64(v)
	if v > inPlace {
		code = escape
		if !c.spill(s, pos, v) {
			s.saturated++
			code = inPlace
		}
	}
	w, shift := &c.mem.w[pos/wordCells], pos%wordCells*4
	old := atomic.LoadUint64(w)
	if old>>shift&15 == 0 {
		s.used++
	}
	atomic.StoreUint64(w, old&^(15<<shift)|code<<shift)
}

// spill puts a value above 14 into the chunk's table, which grows by copying.
func (c *Counts) spill(s *stripe, pos uint64, v uint32) bool {
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
		s.entries += int64(len(grown.slots))
		if t != nil {
			s.entries -= int64(len(t.slots))
		}
		t = grown
	}
	t.insert(offset, v)
	table.Store(t)
	return true
}

// Block appends the non-zero cells of block i, ascending, as of one moment.
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
