package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Check verifies that the filters in memory are consistent.
func (st *Store) Check() error {
	v := st.View.Load()
	err := v.checkOrder()
	for _, g := range v.Reports {
		for _, kind := range layout.ReportKinds {
			if e := g.Listing(kind).check(); e != nil {
				err = errors.Join(err, fmt.Errorf("%s generation %d: %w", kind, g.Num, e))
			}
		}
		if e := g.checkMask(); e != nil {
			err = errors.Join(err, fmt.Errorf("mask of spam generation %d: %w", g.Num, e))
		}
		if e := checkUsed(g.Domains); e != nil {
			err = errors.Join(err, fmt.Errorf("domains generation %d: %w", g.Num, e))
		}
	}
	for _, g := range v.Counts {
		for _, p := range g.Parts {
			if e := p.Part.Check(); e != nil {
				err = errors.Join(err, fmt.Errorf("counts generation %d of site %s: %w", g.Num, p.Origin.Site, e))
			}
		}
		if e := checkUsed(g.Own); e != nil {
			err = errors.Join(err, fmt.Errorf("counts generation %d: %w", g.Num, e))
		}
	}
	return err
}

func (v *View) checkOrder() error {
	newest := func(a, b int64) bool { return a > b }
	for i := 1; i < len(v.Reports); i++ {
		if !newest(v.Reports[i-1].Num, v.Reports[i].Num) {
			return fmt.Errorf("report generation %d precedes %d", v.Reports[i-1].Num, v.Reports[i].Num)
		}
	}
	for i := 1; i < len(v.Counts); i++ {
		if !newest(v.Counts[i-1].Num, v.Counts[i].Num) {
			return fmt.Errorf("count generation %d precedes %d", v.Counts[i-1].Num, v.Counts[i].Num)
		}
	}
	return nil
}

// check compares the joined bits with the parts.
func (l *Listing) check() error {
	if err := checkOnes(l.Own); err != nil {
		return fmt.Errorf("own bits: %w", err)
	}
	if err := checkOnes(l.Others); err != nil {
		return fmt.Errorf("others' bits: %w", err)
	}
	for _, p := range l.Parts {
		if err := p.Part.Check(); err != nil {
			return fmt.Errorf("site %s: %w", p.Origin.Site, err)
		}
		if p.Loading == nil {
			continue
		}
		if err := p.Loading.Check(); err != nil {
			return fmt.Errorf("site %s, loading: %w", p.Origin.Site, err)
		}
	}
	if l.Others == nil {
		return nil
	}
	var union, all []filter.Cell
	for i := range filter.Blocks(l.Others.Shape().Size(), false) {
		union = union[:0]
		for _, p := range l.Trusted {
			union = p.Block(i, union)
		}
		slices.SortFunc(union, func(a, b filter.Cell) int { return int(int64(a.Pos) - int64(b.Pos)) })
		union = slices.Compact(union)
		if all = l.Others.Block(i, all[:0]); !slices.Equal(all, union) {
			return fmt.Errorf("block %d: %d bits joined, the trusted sites' parts have %d", i, len(all), len(union))
		}
	}
	return nil
}

func checkOnes(b *filter.Bits) error {
	if b == nil {
		return nil
	}
	var cells []filter.Cell
	ones := int64(0)
	for i := range filter.Blocks(b.Shape().Size(), false) {
		cells = b.Block(i, cells[:0])
		ones += int64(len(cells))
	}
	if ones != b.Ones() {
		return fmt.Errorf("%d ones, but the count is %d", ones, b.Ones())
	}
	return nil
}

func checkUsed(c *filter.Counts) error {
	if c == nil {
		return nil
	}
	var cells []filter.Cell
	used := int64(0)
	for i := range filter.Blocks(c.Shape().Size(), true) {
		cells = c.Block(i, cells[:0])
		used += int64(len(cells))
	}
	if used != c.Used() {
		return fmt.Errorf("%d cells in use, but the count is %d", used, c.Used())
	}
	return nil
}

// checkMask verifies a mask, and that its shape is that of the filters.
func (g *ReportGeneration) checkMask() error {
	if g.Mask == nil {
		return nil
	}
	for _, b := range []*filter.Bits{g.Spam.Own, g.Spam.Others} {
		if b != nil && !b.Shape().Equal(g.Mask.Shape()) {
			return fmt.Errorf("mask has shape %v, the filter %v", g.Mask.Shape(), b.Shape())
		}
	}
	return g.Mask.Check()
}
