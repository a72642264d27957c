package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// dropParts removes parts from a listing and joins the remaining ones anew.
func (l *Listing) dropParts(of func(SitePart) bool, trusted *TrustedSites) {
	if !slices.ContainsFunc(l.Parts, of) {
		return
	}
	shape := l.Others.Shape()
	l.Others = nil
	if l.Parts = slices.DeleteFunc(l.Parts, of); len(l.Parts) == 0 {
		return
	}
	others, err := filter.NewBits(shape)
	if err != nil {
		panic(err) // cannot happen: the shape is that of a filter
	}
	for _, p := range trusted.only(l.Parts) {
		p.joinTo(others)
	}
	l.Others = others
}

// SetTrusted sets, in every generation, which parts are looked up.
func (v *View) SetTrusted(trusted *TrustedSites) error {
	v.Trusted = trusted
	return v.EditAll(func(*ReportGeneration) {}, func(*CountGeneration) {})
}

// EditAll edits every generation, and selects the trusted parts anew.
func (v *View) EditAll(report func(*ReportGeneration), count func(*CountGeneration)) error {
	for _, g := range slices.Clone(v.Reports) {
		if err := v.editReport(g.Num, func(g *ReportGeneration) error { report(g); return nil }); err != nil {
			return err
		}
	}
	for _, g := range slices.Clone(v.Counts) {
		if err := v.editCount(g.Num, func(g *CountGeneration) error { count(g); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// DropParts removes parts, and generations that are then empty. The joined bits must no longer contain
// theirs, or other parts must.
func (v *View) DropParts(of func(SitePart) bool) error {
	empty := func(g *ReportGeneration) bool { return g.Mask == nil && g.Domains == nil }
	err := v.EditAll(func(g *ReportGeneration) {
		for _, kind := range layout.ReportKinds {
			l := g.Listing(kind)
			if l.Parts = slices.DeleteFunc(l.Parts, of); len(l.Parts) == 0 {
				l.Others = nil
			}
		}
	}, func(g *CountGeneration) { g.Parts = slices.DeleteFunc(g.Parts, of) })
	v.Reports = slices.DeleteFunc(v.Reports, func(g *ReportGeneration) bool {
		for _, kind := range layout.ReportKinds {
			if l := g.Listing(kind); l.Own != nil || len(l.Parts) > 0 {
				return false
			}
		}
		return empty(g)
	})
	v.Counts = slices.DeleteFunc(v.Counts, func(g *CountGeneration) bool { return g.Own == nil && len(g.Parts) == 0 })
	return err
}

// Rejoin rebuilds the joined bits wherever a site has a part, from the parts of trusted sites.
// The old bits are in use until the new ones are complete. That is safe: a listing needs a
// trusted site whose part contains it. The caller holds sitesMu, so that no part changes.
func (st *Store) Rejoin(site string) error {
	for _, g := range st.View.Load().Reports {
		for _, kind := range layout.ReportKinds {
			l, t := g.Listing(kind), layout.Target{Kind: kind, Gen: g.Num}
			if !slices.ContainsFunc(l.Parts, func(p SitePart) bool { return p.Origin.Site == site }) {
				continue
			}
			others, err := filter.NewBits(l.Others.Shape())
			if err != nil {
				return fmt.Errorf("%s generation %d: %w", kind, g.Num, err)
			}
			for _, p := range l.Trusted {
				p.joinTo(others)
			}
			_ = st.Change(func(v *View) error { return v.replaceOthers(t, others) })
			st.Measured.forgetJoined(t)
		}
	}
	return nil
}

// replaceOthers sets the joined bits of a generation, unless it has expired.
func (v *View) replaceOthers(t layout.Target, others *filter.Bits) error {
	if v.Report(t.Gen) == nil {
		return nil
	}
	return v.editReport(t.Gen, func(g *ReportGeneration) error {
		g.Listing(t.Kind).Others = others
		return nil
	})
}

// JoinAgain adds all of a site's parts to the joined bits. The caller holds sitesMu.
func (st *Store) JoinAgain(site string) {
	for _, g := range st.View.Load().Reports {
		for _, kind := range layout.ReportKinds {
			l := g.Listing(kind)
			for _, p := range l.Parts {
				if p.Origin.Site == site {
					p.joinTo(l.Others)
				}
			}
		}
	}
}

// MoveBits joins the bits of one epoch of a site with those of another, and drops its parts. Sketches that
// are being loaded go on loading: they are among the joined bits, so they must stay in a part. The counts of
// both are lost: without those of from, a later epoch may seem not to include those of to, and both would be
// added. The caller holds sitesMu.
func (st *Store) MoveBits(from, to layout.Origin) error {
	of := func(p SitePart) bool { return p.Origin == from }
	for t, parts := range st.View.Load().AllParts() {
		i := slices.IndexFunc(parts, of)
		if i < 0 || t.Kind.Counts() {
			continue
		}
		p := parts[i]
		dst, err := st.PartFor(to, t, p.Shape)
		if err == nil {
			err = dst.mergeAll(p.Part)
		}
		if err == nil && p.Loading != nil {
			if dst, err = st.LoadingFor(to, t, p.Shape); err == nil {
				err = dst.mergeAll(p.Loading)
			}
		}
		if err != nil {
			return fmt.Errorf("%s generation %d: %w", t.Kind, t.Gen, err)
		}
	}
	return st.Change(func(v *View) error {
		err := v.EditAll(func(*ReportGeneration) {}, func(g *CountGeneration) {
			g.Parts = slices.DeleteFunc(g.Parts, func(p SitePart) bool { return p.Origin == to })
		})
		return cmp.Or(err, v.DropParts(of))
	})
}

// mergeAll joins all bits of another part.
func (p *PartOf) mergeAll(from *coded.Part) error {
	var cells []filter.Cell
	for block := range filter.Blocks(from.Size(), false) {
		cells = from.Block(block, cells[:0])
		if err := p.Merge(cells); err != nil {
			return err
		}
	}
	return nil
}

// DropOrigin removes the parts of one epoch of a site, and joins the remaining ones anew.
func (st *Store) DropOrigin(o layout.Origin) error {
	of := func(p SitePart) bool { return p.Origin == o }
	return st.Change(func(v *View) error {
		return v.EditAll(func(g *ReportGeneration) {
			for _, kind := range layout.ReportKinds {
				g.Listing(kind).dropParts(of, v.Trusted)
			}
		}, func(g *CountGeneration) { g.Parts = slices.DeleteFunc(g.Parts, of) })
	})
}
