package papers

import (
	"errors"
	"fmt"
)

// This file has two methods to merge the counting filters of several sites. One is the
// paper's, cell-by-cell addition with deltas (Sum, Delta). Its counts are never too low
// for intuitive filters, and for refined ones if each site inserts only into its own
// state. If a site continues inserting into the merged state, and then sends the
// difference of its cells, counts become too low. Example: with merged cells (5,7,9) of x,
// two insertions of x at each of two sites give (7,7,9) at both, the differences (2,0,0)
// twice, and finally (9,7,9): x counts 7, but was inserted 9 times. H1 did not raise 7 and
// 9, because each site saw only two of the four insertions.
//
// The correct method keeps the sites separate. States of one site are joined by the
// maximum of each cell, which may be repeated, late, or out of order (Join). A key's count
// is the sum of its counts at all sites (CountSites). Counts are too high less often than
// with any sum of cells, for the memory of one filter per site. The program uses this
// method.

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

// Sum adds other cell by cell, as printed in the paper: min(max, a+b). It must not be
// repeated, because a state added twice counts twice. On an error nothing is changed.
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

// Delta sets into, cell by cell, to the difference between c and an earlier state of the
// same filter: the paper's delta filter c^t1 - c^t0. Cells that are at Max in both have a
// difference of zero, whatever was inserted. A cell that decreased is an error, because
// earlier is then not an earlier state; into must then not be used.
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

// Join raises each cell to that of other, for two states of one site's filter; the result
// is the later of them. It may be repeated. On an error nothing is changed.
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

// CountSites returns a key's count over all sites: the sum of the least cell at each.
// The filters must have equal m and hash functions.
func CountSites(sites []*Counting, positions []uint64) uint64 {
	sum := uint64(0)
	for _, site := range sites {
		sum += uint64(site.Count(positions))
	}
	return sum
}
