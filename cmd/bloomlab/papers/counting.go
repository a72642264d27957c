package papers

import (
	"fmt"
	"slices"
)

// Extension is one of Yan & Cho's two counting extensions of the Bloom filter.
type Extension int

const (
	// Intuitive: an insertion increments each of the key's distinct cells (heuristic
	// H2: a cell that two of the key's hashes hit is incremented once). Its cells do
	// not depend on the order of insertions.
	Intuitive Extension = iota

	// Refined: an insertion increments only those of the key's cells that equal the
	// least of them (heuristics H1 and H2). It errs less often, especially if a key's
	// insertions come together and late. It is also known as minimal increase (Cohen &
	// Matias 2003) and conservative update (Estan & Varghese 2002).
	Refined
)

func (e Extension) String() string {
	if e == Refined {
		return "refined"
	}
	return "intuitive"
}

// Cells is the store of a Counting's m cells: Flat or Split.
type Cells interface {
	Size() uint64                 // m
	Max() uint32                  // the largest count; a cell that reaches it keeps it
	Cell(pos uint64) uint32       // pos < Size
	SetCell(pos uint64, v uint32) // pos < Size, v <= Max
	Bytes() int64                 // of memory
	Reset()                       // sets all cells to zero
}

// Counting is Yan & Cho's counting Bloom filter (section IV) of m cells. A key has k
// cells, and the least of them is its count. A count is never below the number of the
// key's insertions, if that is at most Max and states were joined as in merge.go. There
// is no formula for counts that are too high; the paper and the laboratory simulate
// them. The paper's deletion is omitted, because no experiment uses it.
//
// The program's own counting filter is filter.Counts. It is refined, has all cells of a
// key in one cache line and a split store with an escape value instead of the flag, and
// supports many writers. Counting is as general as the paper: any k, cells anywhere,
// both extensions, both stores.
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

// Cells returns the cells themselves. A caller that writes to them is responsible for
// the counts.
func (c *Counting) Cells() Cells { return c.cells }

// Count returns the least of a key's cells: the number of insertions of the key, or more.
// Without positions it is Max.
func (c *Counting) Count(positions []uint64) uint32 {
	least := c.max
	for _, pos := range positions {
		least = min(least, c.cells.Cell(pos))
	}
	return least
}

// Add inserts a key d times and returns its new count. For both extensions the cells are
// the same as after d single insertions: in the refined one all cells below t = count+d
// become t. Repeating this for the same t changes nothing, so cells that two hashes of
// the key share count once (H2).
func (c *Counting) Add(positions []uint64, d uint32) uint32 {
	if c.extension == Refined {
		t := c.saturate(uint64(c.Count(positions)) + uint64(d))
		for _, pos := range positions {
			if c.cells.Cell(pos) < t {
				c.cells.SetCell(pos, t)
			}
		}
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
