package papers

import (
	"errors"
	"fmt"
)

// This file has the ways to put counting filters of several sites together. One
// is the paper's, cell-by-cell addition with deltas (Sum, Delta). It is one-sided
// for intuitive filters, and for refined ones as long as each site inserts into
// its own state only. A site that goes on inserting into the merged state, and
// then sends the difference of its cells, makes counts too low: with merged
// cells (5,7,9) of x, two insertions of x at each of two sites give (7,7,9) at
// both, the differences (2,0,0) twice, and (9,7,9) in the end: x counts 7, and
// was inserted 9 times. H1 left 7 and 9 alone because x had two insertions to
// come, and not four.
//
// The sound one keeps the sites apart: states of one site join by the maximum of
// each cell, which may be repeated, late, or out of order (Join), and a key
// counts the sum over the sites of its count at each (CountSites). Its counts are
// too high less often than those of any sum of cells, for one filter's memory a
// site. The program does so.

// compatible returns an error that names both sides if two filters cannot be merged.
func (c *Counting) compatible(other *Counting) error {
	if c.extension != other.extension || c.k != other.k || c.cells.Size() != other.cells.Size() || c.max != other.max {
		return fmt.Errorf("counting filter (%v) cannot be merged with one of (%v)", c.parameters(), other.parameters())
	}
	return nil
}

func (c *Counting) parameters() string {
	return fmt.Sprintf("%v, m=%d k=%d max=%d", c.extension, c.cells.Size(), c.k, c.max)
}

// Sum adds other cell by cell, as the paper prints it: min(max, a+b). It must
// not be repeated: what comes twice counts twice. Nothing is changed on an
// error.
func (c *Counting) Sum(other *Counting) error {
	if err := c.compatible(other); err != nil {
		return err
	}
	for pos := range c.cells.Size() {
		if b := other.cells.Cell(pos); b > 0 {
			c.cells.SetCell(pos, c.saturate(uint64(c.cells.Cell(pos))+uint64(b)))
		}
	}
	return nil
}

// Delta sets into, cell by cell, to what c has more than the earlier state of
// the same filter: the paper's delta filter c^t1 - c^t0. Cells that stand at
// Max in both have a difference of zero, whatever was inserted. A cell that is
// less than it was is an error: earlier is then no earlier state. Into must then not
// be used.
func (c *Counting) Delta(earlier, into *Counting) error {
	if err := errors.Join(c.compatible(earlier), c.compatible(into)); err != nil {
		return err
	}
	for pos := range c.cells.Size() {
		was, is := earlier.cells.Cell(pos), c.cells.Cell(pos)
		if is < was {
			return fmt.Errorf("counting filter: delta of cell %d, which was %d and is %d", pos, was, is)
		}
		into.cells.SetCell(pos, is-was)
	}
	return nil
}

// Join raises each cell to other's, for two states of one site's filter: the
// later of them is what comes out. It may be repeated. Nothing is changed on an
// error.
func (c *Counting) Join(other *Counting) error {
	if err := c.compatible(other); err != nil {
		return err
	}
	for pos := range c.cells.Size() {
		if b := other.cells.Cell(pos); b > c.cells.Cell(pos) {
			c.cells.SetCell(pos, b)
		}
	}
	return nil
}

// CountSites is a key's count over all sites: the sum of the least cell at each.
// The filters must be of equal m and hash functions.
func CountSites(sites []*Counting, positions []uint64) uint64 {
	sum := uint64(0)
	for _, site := range sites {
		sum += uint64(site.Count(positions))
	}
	return sum
}
