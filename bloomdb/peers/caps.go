package peers

import (
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

const (
	// defaultShare is the share of a generation of reports that one site may fill if
	// Member.MaxReports is 0. No site alone can then use up the room of all.
	defaultShare = 0.5
	// defaultCounted times this site's CountOptions.Capacity is what another site may
	// count if Member.MaxCounts is 0.
	defaultCounted  = 4
	leastCounted    = 1_000_000 // messages that any site may count
	cellsPerMessage = 4         // cells of a counting filter for each message
	// recompared is the fraction of its cap by which the data of a site with several epochs
	// must have grown before its epochs are compared again.
	recompared = 64
)

// siteTarget is one site's share of one filter, over all its epochs.
type siteTarget struct {
	site   string
	target layout.Target
}

// siteUse is how much of its cap a site has used.
type siteUse struct {
	capped bool
	// overlap is the number of bits that were also in an earlier epoch, when the sum over
	// all epochs was measured. An epoch may begin with the filters of the previous one.
	overlap, measured int64
}

// siteCap returns the number of bits or cells of a filter that a site may set.
func (ps *Peers) siteCap(site string, t layout.Target, s layout.Shape) int64 {
	m, _ := ps.sealer.Members.Of(site)
	if t.Kind.Counts() {
		most := min(m.MaxCounts, layout.MaxCounted)
		if most <= 0 {
			most = max(leastCounted, defaultCounted*ps.opt.Counts.Capacity)
		}
		return cellsPerMessage * most
	}
	return ps.opt.OnesOf(t.Kind, s.Bits(), ps.shareOf(m))
}

// shareOf returns the share of a generation of reports that a site may fill.
func (ps *Peers) shareOf(m wire.Member) float64 {
	if m.MaxReports > 0 {
		return min(1, float64(m.MaxReports)/ps.opt.MessagesPerGeneration())
	}
	return defaultShare
}

// withinCap rejects a section that would take its site over the cap. parts are those of all sites.
// The caller holds sitesMu.
func (ps *Peers) withinCap(what string, o layout.Origin, s wire.DeltaSection, parts []store.SitePart) error {
	name := siteTarget{o.Site, s.Target}
	most := ps.siteCap(o.Site, s.Target, s.Shape)
	use := ps.uses[name]
	if use != nil && use.capped {
		return fmt.Errorf("%s: %w: it sent more than %d %s, or too many in one place", what, wire.ErrCapped, most, s.Target.Kind.Unit())
	}
	epochs := name.epochs(parts)
	if err := ps.withinDensity(o, s, epochs); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	held := held(epochs)
	if use != nil {
		held -= use.overlap
	}
	if held+int64(len(s.Cells)) <= most {
		return nil
	}
	use = ps.useOf(name)
	more := int64(fresh(epochs, o, s))
	if use.distinct(epochs, s.Target.Kind, most)+more <= most {
		return nil
	}
	if sent := use.distinct(epochs, s.Target.Kind, 0) + more; sent > most { // exactly: it may be in a new epoch
		use.capped = true
		return fmt.Errorf("%s: %w: %d %s of the site, must be at most %d", what, wire.ErrCapped, sent, s.Target.Kind.Unit(), most)
	}
	return nil
}

// epochs returns a site's parts of a filter, one for each epoch. Of counts it omits epochs that a
// later one includes.
func (t siteTarget) epochs(parts []store.SitePart) (epochs []store.SitePart) {
	for _, p := range parts {
		if p.Origin.Site == t.site {
			epochs = append(epochs, p)
		}
	}
	if t.target.Kind.Counts() {
		return store.Counted(epochs)
	}
	return epochs
}

// held returns the sum of the cells of all parts.
func held(epochs []store.SitePart) int64 {
	n := int64(0)
	for _, p := range epochs {
		n += p.Cells()
	}
	return n
}

// distinct returns the number of cells in any of the parts. Comparing bits takes about 15 ns for
// each, so it is done only when most/recompared are new, and the result may be larger by as many.
func (u *siteUse) distinct(epochs []store.SitePart, kind layout.Kind, most int64) int64 {
	n := held(epochs)
	if kind.Counts() || len(epochs) < 2 {
		return n
	}
	if n != u.measured && n-u.measured >= most/recompared {
		u.measured, u.overlap = n, n-union(epochs)
	}
	return n - u.overlap
}

// union returns the number of bits in any of the parts.
func union(parts []store.SitePart) int64 {
	var cells []filter.Cell
	n := 0
	for i := range filter.Blocks(parts[0].Part.Size(), false) {
		cells = cells[:0]
		for _, p := range parts {
			cells = p.Block(i, cells)
		}
		slices.SortFunc(cells, func(a, b filter.Cell) int { return int(int64(a.Pos) - int64(b.Pos)) })
		n += len(slices.Compact(cells))
	}
	return int64(n)
}

// fresh returns how many of a section's cells are new for its site. Counts of different epochs are
// separate cells. It takes as long as the section, however full the parts are: a record of some KiB
// has cells in hundreds of blocks.
func fresh(epochs []store.SitePart, o layout.Origin, s wire.DeltaSection) (n int) {
	if s.Target.Kind.Counts() {
		for _, p := range epochs {
			if p.Origin == o {
				return p.Part.Fresh(s.Cells)
			}
		}
		return len(s.Cells)
	}
	for had, all := range lines(s.Cells, epochs) {
		n += all.Ones() - had.Ones()
	}
	return n
}

// used returns the share of its cap that a site has used, 0 to 1, and whether it sent more. The
// caller holds sitesMu.
func (ps *Peers) used(name siteTarget, s layout.Shape) (share float64, capped bool) {
	use, most := ps.useOf(name), ps.siteCap(name.site, name.target, s)
	parts, _ := ps.store.View.Load().Joined(name.target)
	n := use.distinct(name.epochs(parts), name.target.Kind, most)
	return min(1, float64(n)/float64(most)), use.capped
}

func (ps *Peers) useOf(name siteTarget) *siteUse {
	use := ps.uses[name]
	if use == nil {
		use = &siteUse{}
		ps.uses[name] = use
	}
	return use
}

// forgetUses removes what a site has used. The caller holds sitesMu.
func (ps *Peers) forgetUses(site string) {
	for name := range ps.uses {
		if name.site == site {
			delete(ps.uses, name)
		}
	}
}

// forgetExpiredUses removes what was used of expired generations. The caller holds sitesMu.
func (ps *Peers) forgetExpiredUses() {
	for name := range ps.uses {
		if ps.opt.Expired(name.target) {
			delete(ps.uses, name)
		}
	}
}
