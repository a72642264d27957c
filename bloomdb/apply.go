package bloomdb

import (
	"fmt"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Bounds on what other sites may make us hold.
const (
	maxOrigins = 4096 // sites, each in all its lives
	maxLives   = 16   // of one site
	minParts   = 256 << 20
)

// Order says what is known of the deltas between the cursor and a record.
type Order int

const (
	// Next: nothing is known. Nothing may be missing before the record.
	Next Order = iota
	// Skipped: those that are missing were refused. They are counted as missed until a
	// snapshot has brought them: why they were refused may not last.
	Skipped
	// Lost: they can't be had from the stream. They are counted likewise.
	Lost
)

// Apply joins another site's delta.
func (ps *peers) Apply(data []byte, order Order) error {
	d, err := ps.sealer.decodeDelta(data)
	if err != nil {
		return err
	}
	if d.Site == ps.opt.Site {
		return nil
	}
	if err := ps.sealer.heardInFull(d.Site); err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	state, err := ps.stateOf(d.Head)
	if err != nil {
		return err
	}
	if d.Seq <= state.seq {
		return nil
	}
	if d.Prev > state.seq && order == Next {
		return fmt.Errorf("%s: %w: it comes after %d, and %d was the last", d, ErrGap, d.Prev, state.seq)
	}
	d.sections = ps.joinable(d, state)
	parts, err := ps.partsFor(d)
	if err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	for i, p := range parts {
		if p == nil {
			continue
		}
		if err := p.merge(d.sections[i].cells); err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
	}
	if d.Prev > state.seq {
		state.miss(d.Prev, order)
	}
	state.seq = d.Seq
	ps.sites[d.origin] = state
	return nil
}

// partsLimit is how many bytes all parts may take: twice what this site's own
// filters take when they are full, and never less than 256 MiB.
func (ps *peers) partsLimit() int64 {
	reports, counts := ps.opt.fullMemory()
	return max(ps.leastParts, 2*(reports+counts))
}

// partOf is where a section's cells go.
type partOf struct {
	part   *filter.Part
	others *filter.Bits // nil for counts, and where the site has no say
}

func (p *partOf) merge(cells []filter.Cell) error {
	if err := p.part.Merge(cells); err != nil {
		return err
	}
	if p.others != nil {
		p.others.SetCells(cells)
	}
	return nil
}

// partsFor finds or makes the part for each section, nil for those that aged
// out. Nothing is merged before all sections are known to be good.
func (ps *peers) partsFor(d delta) ([]*partOf, error) {
	if len(d.sections) == 0 {
		return nil, nil
	}
	if err := ps.roomForParts(d.Site, sectionsNeed(d.sections)); err != nil {
		return nil, err
	}
	for _, s := range d.sections {
		if err := ps.acceptable(d.origin, s); err != nil {
			return nil, err
		}
	}
	parts := make([]*partOf, len(d.sections))
	for i, s := range d.sections {
		if ps.opt.aged(s.target) {
			continue
		}
		p, err := ps.store.partFor(d.origin, s.target, s.shape)
		if err != nil {
			return nil, err
		}
		parts[i] = p
	}
	return parts, nil
}

// acceptable refuses a section that can't be joined.
func (ps *peers) acceptable(o origin, s deltaSection) error {
	what := fmt.Sprintf("%s generation %d", s.target.kind, s.target.gen)
	if here := int64(ps.opt.period(s.target.kind) / time.Second); s.period != here {
		return fmt.Errorf("%s: %w: period there %d s, here %d s", what, ErrParameters, s.period, here)
	}
	if ps.opt.aged(s.target) {
		return nil
	}
	if ps.opt.early(s.target) {
		return fmt.Errorf("%s begins %s: %w", what, ps.opt.start(s.target).Format(time.RFC3339), ErrClock)
	}
	if s.target.kind == countFilter {
		if g := ps.store.view.Load().count(s.target.gen); g != nil {
			for _, p := range g.parts {
				if p.origin == o && p.shape != s.shape {
					return fmt.Errorf("%s: %w: %d lines, before %d", what, ErrParameters, s.shape.lines, p.shape.lines)
				}
			}
		}
		return ps.withinCap(what, o, s)
	}
	here := ps.store.shapeFor(s.target)
	if bitsShape(here) != s.shape {
		return fmt.Errorf("%s: %w (reports.capacity, keep and max_error_per_mail must be equal at all sites)", what, differs(s.shape, bitsShape(here)))
	}
	if err := ps.withinCap(what, o, s); err != nil {
		return err
	}
	g := ps.store.view.Load().report(s.target.gen)
	if g == nil || g.listing(s.target.kind).others == nil {
		return ps.opt.fits(what, here, int64(len(s.cells)), s.target)
	}
	others := g.listing(s.target.kind).others
	fresh := others.Ones()
	for _, c := range s.cells {
		if !others.Bit(c.Pos) {
			fresh++
		}
	}
	return ps.opt.fits(what, here, fresh, s.target)
}

// partFor finds or makes an origin's part of a filter.
func (st *store) partFor(o origin, t target, s shape) (p *partOf, err error) {
	if p := st.view.Load().partOf(o, t, s); p != nil {
		return p, nil // a new view for each record would take longer than the record
	}
	if t.kind == countFilter {
		err = st.change(func(v *view) error {
			return v.editCount(t.gen, func(g *countGeneration) error {
				p = &partOf{part: findPart(&g.parts, o, t.kind, s)}
				return nil
			})
		})
		return p, err
	}
	err = st.change(func(v *view) error {
		return v.editReport(t.gen, func(g *reportGeneration) (err error) {
			l := g.listing(t.kind)
			if l.others == nil {
				if l.others, err = filter.NewBits(s.bits()); err != nil {
					return err
				}
			} else if here := bitsShape(l.others.Shape()); here != s {
				return differs(s, here)
			}
			p = &partOf{part: findPart(&l.parts, o, t.kind, s), others: l.others}
			if !v.trusted.includes(o.site) {
				p.others = nil
			}
			return nil
		})
	})
	return p, err
}

// partOf finds an origin's part of a filter; nil where it must be made.
func (v *view) partOf(o origin, t target, s shape) *partOf {
	ofOrigin := func(p sitePart) bool { return p.origin == o && p.shape == s }
	if t.kind == countFilter {
		if g := v.count(t.gen); g != nil {
			if i := slices.IndexFunc(g.parts, ofOrigin); i >= 0 {
				return &partOf{part: g.parts[i].part}
			}
		}
		return nil
	}
	g := v.report(t.gen)
	if g == nil {
		return nil
	}
	l := g.listing(t.kind)
	i := slices.IndexFunc(l.parts, ofOrigin)
	if i < 0 {
		return nil
	}
	p := &partOf{part: l.parts[i].part, others: l.others}
	if !v.trusted.includes(o.site) {
		p.others = nil
	}
	return p
}

func findPart(parts *[]sitePart, o origin, kind filterKind, s shape) *filter.Part {
	for _, p := range *parts {
		if p.origin == o {
			return p.part
		}
	}
	part := filter.NewPart(s.size(kind), kind == countFilter)
	*parts = append(*parts, sitePart{origin: o, shape: s, part: part})
	return part
}

// joinable leaves out of a delta the sections of classes that can't be joined,
// which is said once for each site: they cost nobody its reports. Where classes
// are off, nobody wants them.
func (ps *peers) joinable(d delta, state *siteState) []deltaSection {
	return slices.DeleteFunc(d.sections, func(s deltaSection) bool {
		if ps.opt.unwanted(s.target.kind) {
			return true
		}
		if s.target.kind != classFilter {
			return false
		}
		err := ps.acceptable(d.origin, s)
		if err != nil && !state.classesRefused {
			state.classesRefused = true
			ps.opt.Log.Warn("classes of another site's reports are not known here", "site", d.origin.site, "error", err)
		}
		return err != nil
	})
}
