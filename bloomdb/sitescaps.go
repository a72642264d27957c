package bloomdb

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// ErrCapped is the error of Apply for a record that would take a site over its cap.
// Until the generation ends, the site is not heard in it any more.
var ErrCapped = errors.New("the site's cap is reached")

const (
	// defaultShare is how much of a generation of reports one site may fill, where
	// Member.MaxReports is 0: no site alone can use up what all share.
	defaultShare = 0.5
	// defaultCounted is how many times this site's CountOptions.Capacity another one
	// may count, where Member.MaxCounts is 0.
	defaultCounted  = 4
	leastCounted    = 1_000_000 // that any site may count
	cellsPerMessage = 4         // of a counting filter
	// recompared is the share of its cap by which what is held of a site in several
	// lives must have grown before it is compared again.
	recompared = 64
)

// siteTarget is one site's share, in all its lives, of one filter.
type siteTarget struct {
	site   string
	target target
}

// siteUse is what is known of how much a site has used of its cap.
type siteUse struct {
	capped bool
	// overlap is how many bits of one life stood in an earlier one, when all lives
	// together had so many: a life may begin with the filters of the one before.
	overlap, measured int64
}

// siteCap is the number of bits or cells of a filter that a site may set.
func (ps *peers) siteCap(site string, t target, s shape) int64 {
	m, _ := ps.sealer.members.of(site)
	if t.kind.counts() {
		most := min(m.MaxCounts, maxCounted)
		if most <= 0 {
			most = max(leastCounted, defaultCounted*ps.opt.Counts.Capacity)
		}
		return cellsPerMessage * most
	}
	share := defaultShare
	if m.MaxReports > 0 {
		share = min(1, float64(m.MaxReports)/ps.opt.messagesPerGeneration())
	}
	return ps.opt.onesOf(t.kind, s.bits(), share)
}

// withinCap refuses a section that would take its site over the cap. sitesMu is held.
func (ps *peers) withinCap(what string, o origin, s deltaSection) error {
	name := siteTarget{o.site, s.target}
	most := ps.siteCap(o.site, s.target, s.shape)
	use := ps.uses[name]
	if use != nil && use.capped {
		return fmt.Errorf("%s: %w: at most %d %s, and it sent more", what, ErrCapped, most, s.target.kind.unit())
	}
	lives := ps.livesOf(name)
	held := held(lives)
	if use != nil {
		held -= use.overlap
	}
	if held+int64(len(s.cells)) <= most {
		return nil
	}
	use = ps.useOf(name)
	held = use.distinct(lives, s.target.kind, most)
	if sent := held + fresh(lives, o, s); sent > most {
		use.capped = true
		return fmt.Errorf("%s: %w: %d %s of the site, at most %d", what, ErrCapped, sent, s.target.kind.unit(), most)
	}
	return nil
}

// unit is what a filter is filled with.
func (k filterKind) unit() string {
	if k.counts() {
		return "cells"
	}
	return "bits"
}

// livesOf are a site's parts of a filter: of counts without those that another life
// has carried over.
func (ps *peers) livesOf(name siteTarget) []sitePart {
	var parts []sitePart
	v := ps.store.view.Load()
	if name.target.kind.counts() {
		if g := v.count(name.target.gen); g != nil {
			parts = g.parts
		}
	} else if g := v.report(name.target.gen); g != nil {
		parts = g.listing(name.target.kind).parts
	}
	var lives []sitePart
	for _, p := range parts {
		if p.origin.site == name.site {
			lives = append(lives, p)
		}
	}
	if name.target.kind.counts() {
		return counted(lives)
	}
	return lives
}

// held is how many cells the lives have, one by one.
func held(lives []sitePart) int64 {
	n := int64(0)
	for _, p := range lives {
		n += p.part.Cells()
	}
	return n
}

// distinct is how many cells the lives have together. Bits of several lives are
// compared, which takes about 15 ns for each, when there are enough new ones.
func (u *siteUse) distinct(lives []sitePart, kind filterKind, most int64) int64 {
	n := held(lives)
	if kind.counts() || len(lives) < 2 {
		return n
	}
	if n-u.measured >= most/recompared {
		u.measured, u.overlap = n, n-union(lives)
	}
	return n - u.overlap
}

// union is how many bits the parts have together.
func union(parts []sitePart) int64 {
	var cells []filter.Cell
	n := 0
	for i := range filter.Blocks(parts[0].part.Size(), false) {
		cells = cells[:0]
		for _, p := range parts {
			cells = p.part.Block(i, cells)
		}
		slices.SortFunc(cells, func(a, b filter.Cell) int { return int(int64(a.Pos) - int64(b.Pos)) })
		n += len(slices.Compact(cells))
	}
	return int64(n)
}

// fresh is how many of a section's cells its site does not have yet. Lives of counts
// have cells of their own.
func fresh(lives []sitePart, o origin, s deltaSection) int64 {
	if s.target.kind.counts() {
		lives = slices.DeleteFunc(lives, func(p sitePart) bool { return p.origin != o })
	}
	known := make(map[uint64]bool)
	var cells []filter.Cell
	last := ^uint64(0)
	n := int64(0)
	for _, c := range s.cells {
		if block := c.Pos / s.target.kind.blockSize(); block != last {
			last = block
			clear(known)
			for _, p := range lives {
				cells = p.part.Block(block, cells[:0])
				for _, c := range cells {
					known[c.Pos] = true
				}
			}
		}
		if !known[c.Pos] {
			n++
		}
	}
	return n
}

// used is how much of its cap a site has used, 0 to 1, and whether it sent more.
// sitesMu is held.
func (ps *peers) used(name siteTarget, s shape) (share float64, capped bool) {
	use, most := ps.useOf(name), ps.siteCap(name.site, name.target, s)
	n := use.distinct(ps.livesOf(name), name.target.kind, most)
	return min(1, float64(n)/float64(most)), use.capped
}

func (ps *peers) useOf(name siteTarget) *siteUse {
	use := ps.uses[name]
	if use == nil {
		use = &siteUse{}
		ps.uses[name] = use
	}
	return use
}

// forgetUses forgets what a site has used. sitesMu is held.
func (ps *peers) forgetUses(site string) {
	for name := range ps.uses {
		if name.site == site {
			delete(ps.uses, name)
		}
	}
}

// forgetAgedUses forgets what was used of generations that aged out. sitesMu is held.
func (ps *peers) forgetAgedUses() {
	for name := range ps.uses {
		if ps.opt.aged(name.target) {
			delete(ps.uses, name)
		}
	}
}
