package peers

import (
	"fmt"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Limits on what other sites can make this one store.
const (
	maxOrigins = 4096 // epochs of all sites
	MaxEpochs  = 16   // epochs of one site
	MinParts   = 256 << 20
)

// Order describes the numbers between the cursor and a delta.
type Order int

const (
	// Next: no number between them may be missing.
	Next Order = iota
	// Skipped: the missing ones were rejected. They are counted as gaps until a snapshot
	// supplies them, because the reason for the rejection may not last.
	Skipped
	// Lost: the missing ones are no longer in the stream. They are counted likewise.
	Lost
)

// Apply joins the delta of another site.
func (ps *Peers) Apply(data []byte, order Order) error {
	d, err := ps.sealer.DecodeDelta(data)
	if err != nil {
		return err
	}
	if d.Site == ps.opt.Site {
		return nil
	}
	if err := ps.sealer.RequireFullTrust(d.Site); err != nil {
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
		return fmt.Errorf("%s: %w: it follows %d, but the last one applied is %d", d, wire.ErrGap, d.Prev, state.seq)
	}
	d.Sections = ps.joinable(d, state)
	parts, err := ps.partsFor(d)
	if err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	for i, p := range parts {
		if p == nil {
			continue
		}
		if err := p.Merge(d.Sections[i].Cells); err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
	}
	if d.Prev > state.seq {
		state.miss(d.Prev, order)
	}
	state.seq = d.Seq
	ps.sites[d.Origin] = state
	return nil
}

// PartsLimit returns the memory limit of all parts in bytes: twice what this site's own filters
// take when they are full, and at least 256 MiB.
func (ps *Peers) PartsLimit() int64 {
	reports, counts := ps.opt.FullMemory()
	return max(ps.leastParts, 2*(reports+counts))
}

// partsFor returns the part for each section, nil for expired ones. It creates missing parts. No
// section is merged before all are checked.
func (ps *Peers) partsFor(d wire.DeltaBody) ([]*store.PartOf, error) {
	if len(d.Sections) == 0 {
		return nil, nil
	}
	if err := ps.roomForParts(d.Site, sectionsNeed(d.Sections)); err != nil {
		return nil, err
	}
	for _, s := range d.Sections {
		if err := ps.acceptable(d.Origin, s); err != nil {
			return nil, err
		}
	}
	parts := make([]*store.PartOf, len(d.Sections))
	for i, s := range d.Sections {
		if ps.opt.Expired(s.Target) {
			continue
		}
		p, err := ps.store.PartFor(d.Origin, s.Target, s.Shape)
		if err != nil {
			return nil, err
		}
		parts[i] = p
	}
	return parts, nil
}

// acceptable returns the reason why a section cannot be joined.
func (ps *Peers) acceptable(o layout.Origin, s wire.DeltaSection) error {
	what := fmt.Sprintf("%s generation %d", s.Target.Kind, s.Target.Gen)
	if here := int64(ps.opt.Period(s.Target.Kind) / time.Second); s.Period != here {
		return fmt.Errorf("%s: %w: period there %d s, here %d s", what, layout.ErrParameters, s.Period, here)
	}
	if ps.opt.Expired(s.Target) {
		return nil
	}
	if ps.opt.Early(s.Target) {
		return fmt.Errorf("%s begins in the future, at %s: %w", what, ps.opt.Start(s.Target).Format(time.RFC3339), layout.ErrClock)
	}
	if s.Target.Kind == layout.CountFilter {
		if g := ps.store.View.Load().Count(s.Target.Gen); g != nil {
			for _, p := range g.Parts {
				if p.Origin == o && p.Shape != s.Shape {
					return fmt.Errorf("%s: %w: %d lines, previously %d", what, layout.ErrParameters, s.Shape.Lines, p.Shape.Lines)
				}
			}
		}
		return ps.withinCap(what, o, s)
	}
	here := ps.store.ShapeFor(s.Target)
	if layout.BitsShape(here) != s.Shape {
		return fmt.Errorf("%s: %w (set reports.capacity, keep and max_error_per_mail equal at all sites)", what, layout.Differs(s.Shape, layout.BitsShape(here)))
	}
	if err := ps.withinCap(what, o, s); err != nil {
		return err
	}
	g := ps.store.View.Load().Report(s.Target.Gen)
	if g == nil || g.Listing(s.Target.Kind).Others == nil {
		return ps.opt.Fits(what, here, int64(len(s.Cells)), s.Target)
	}
	others := g.Listing(s.Target.Kind).Others
	fresh := others.Ones()
	for _, c := range s.Cells {
		if !others.Bit(c.Pos) {
			fresh++
		}
	}
	return ps.opt.Fits(what, here, fresh, s.Target)
}

// joinable returns the sections of a delta without classes that cannot be joined. A site's classes
// never cost it its reports; the reason is logged once for each site. If classes are disabled here,
// they are dropped silently.
func (ps *Peers) joinable(d wire.DeltaBody, state *state) []wire.DeltaSection {
	return slices.DeleteFunc(d.Sections, func(s wire.DeltaSection) bool {
		if ps.opt.Unwanted(s.Target.Kind) {
			return true
		}
		if s.Target.Kind != layout.ClassFilter {
			return false
		}
		err := ps.acceptable(d.Origin, s)
		if err != nil && !state.classesRefused {
			state.classesRefused = true
			ps.opt.Log.Warn("classes of another site's reports are ignored", "site", d.Origin.Site, "error", err)
		}
		return err != nil
	})
}
