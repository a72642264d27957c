package peers

import (
	"fmt"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Bounds on what other sites may make us hold.
const (
	maxOrigins = 4096 // sites, each in all its lives
	MaxLives   = 16   // of one site
	MinParts   = 256 << 20
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
func (ps *Peers) Apply(data []byte, order Order) error {
	d, err := ps.sealer.DecodeDelta(data)
	if err != nil {
		return err
	}
	if d.Site == ps.opt.Site {
		return nil
	}
	if err := ps.sealer.HeardInFull(d.Site); err != nil {
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
		return fmt.Errorf("%s: %w: it comes after %d, and %d was the last", d, wire.ErrGap, d.Prev, state.seq)
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

// PartsLimit is how many bytes all parts may take: twice what this site's own
// filters take when they are full, and never less than 256 MiB.
func (ps *Peers) PartsLimit() int64 {
	reports, counts := ps.opt.FullMemory()
	return max(ps.LeastParts, 2*(reports+counts))
}

// partsFor finds or makes the part for each section, nil for those that aged
// out. Nothing is merged before all sections are known to be good.
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
		if ps.opt.Aged(s.Target) {
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

// acceptable refuses a section that can't be joined.
func (ps *Peers) acceptable(o layout.Origin, s wire.DeltaSection) error {
	what := fmt.Sprintf("%s generation %d", s.Target.Kind, s.Target.Gen)
	if here := int64(ps.opt.Period(s.Target.Kind) / time.Second); s.Period != here {
		return fmt.Errorf("%s: %w: period there %d s, here %d s", what, layout.ErrParameters, s.Period, here)
	}
	if ps.opt.Aged(s.Target) {
		return nil
	}
	if ps.opt.Early(s.Target) {
		return fmt.Errorf("%s begins %s: %w", what, ps.opt.Start(s.Target).Format(time.RFC3339), layout.ErrClock)
	}
	if s.Target.Kind == layout.CountFilter {
		if g := ps.store.View.Load().Count(s.Target.Gen); g != nil {
			for _, p := range g.Parts {
				if p.Origin == o && p.Shape != s.Shape {
					return fmt.Errorf("%s: %w: %d lines, before %d", what, layout.ErrParameters, s.Shape.Lines, p.Shape.Lines)
				}
			}
		}
		return ps.withinCap(what, o, s)
	}
	here := ps.store.ShapeFor(s.Target)
	if layout.BitsShape(here) != s.Shape {
		return fmt.Errorf("%s: %w (reports.capacity, keep and max_error_per_mail must be equal at all sites)", what, layout.Differs(s.Shape, layout.BitsShape(here)))
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

// joinable leaves out of a delta the sections of classes that can't be joined,
// which is said once for each site: they cost nobody its reports. Where classes
// are off, nobody wants them.
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
			ps.opt.Log.Warn("classes of another site's reports are not known here", "site", d.Origin.Site, "error", err)
		}
		return err != nil
	})
}
