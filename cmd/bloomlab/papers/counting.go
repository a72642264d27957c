package papers

import (
	"fmt"
	"slices"
)

// Extension is one of Yan & Cho's two counting extensions of the Bloom filter.
type Extension int

const (
	// Intuitive: an insertion counts up each of the key's distinct cells
	// (heuristic H2: a cell that two of the key's hashes hit, once). Its cells do not
	// depend on the order of insertions.
	Intuitive Extension = iota

	// Refined: an insertion counts up only those of the key's cells that equal
	// the least of them (heuristics H1 and H2). It is wrong less often, the more
	// so the later a key's insertions come together. Also known as minimal
	// increase (Cohen & Matias 2003) and conservative update (Estan & Varghese
	// 2002).
	Refined
)

func (e Extension) String() string {
	if e == Refined {
		return "refined"
	}
	return "intuitive"
}

// Cells is where a Counting keeps its m cells: Flat or Split.
type Cells interface {
	Size() uint64                 // m
	Max() uint32                  // the largest count; a cell that gets there stays there
	Cell(pos uint64) uint32       // pos < Size
	SetCell(pos uint64, v uint32) // pos < Size, v <= Max

	// Least is the least of the cells, Max where there is none. Raise makes each of
	// them at least t <= Max. They are what a refined filter does with a key.
	Least(positions []uint64) uint32
	Raise(positions []uint64, t uint32)

	Bytes() int64 // of memory
	Reset()       // sets all cells to zero
}

// Counting is Yan & Cho's counting Bloom filter (section IV): m cells, of which
// a key has k, and whose least is its count. A count is never below the number
// of the key's insertions, as long as that is at most Max and states were joined as
// merge.go says. How often it is above has no formula; the paper and the laboratory
// simulate it. The paper's deletion is omitted: no experiment has one.
//
// The program's own counting filter is filter.Counts: refined, with all cells of a key
// in one cache line and a split store that has an escape value in the flag's
// place, for many writers. Counting has the paper's freedom instead: any k,
// cells anywhere, both extensions, both stores.
//
// Reads may run concurrently with each other, but not with a write.
type Counting struct {
	extension Extension
	k         int
	max       uint32 // of a cell
	cells     Cells
}

// NewCounting makes a filter on empty cells for keys of k positions, 1 to MaxK.
func NewCounting(extension Extension, k int, cells Cells) (*Counting, error) {
	if extension != Intuitive && extension != Refined {
		return nil, fmt.Errorf("counting filter: unknown extension %d", int(extension))
	}
	if err := validSize(cells.Size(), k); err != nil {
		return nil, fmt.Errorf("counting filter: %w", err)
	}
	return &Counting{extension: extension, k: k, max: cells.Max(), cells: cells}, nil
}

// Cells are the cells themselves. Who writes to them answers for the counts.
func (c *Counting) Cells() Cells { return c.cells }

// Count is the least of a key's cells: how often the key was inserted, or more.
func (c *Counting) Count(positions []uint64) uint32 {
	return c.cells.Least(positions)
}

// Add inserts a key d times and returns its new count. For both extensions this
// gives the same cells as d insertions one by one: in the refined one all cells
// below t = count+d become t. Doing that twice for the same t changes nothing,
// and cells that two hashes of the key share count once (H2) by themselves.
func (c *Counting) Add(positions []uint64, d uint32) uint32 {
	if c.extension == Refined {
		t := c.saturate(uint64(c.Count(positions)) + uint64(d))
		c.cells.Raise(positions, t)
		return t
	}
	count := c.max
	for i, pos := range positions {
		if slices.Contains(positions[:i], pos) {
			continue
		}
		v := c.saturate(uint64(c.cells.Cell(pos)) + uint64(d))
		c.cells.SetCell(pos, v)
		count = min(count, v)
	}
	return count
}

func (c *Counting) saturate(v uint64) uint32 { return uint32(min(v, uint64(c.max))) }

// Reset sets all counts to zero.
func (c *Counting) Reset() { c.cells.Reset() }
