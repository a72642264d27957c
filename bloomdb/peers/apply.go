package peers

import (
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/layout"
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

// Apply joins the delta of another site. It joins no section before all are checked.
func (ps *Peers) Apply(data []byte, order Order) error {
	d, err := ps.sealer.DecodeDelta(data)
	if err != nil || d.Site == ps.opt.Site {
		return err
	}
	if err := ps.sealer.RequireFullTrust(d.Site); err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	state, err := ps.stateOf(d.Head)
	if err != nil || d.Seq <= state.seq {
		return err
	}
	if d.Prev > state.seq && order == Next {
		return fmt.Errorf("%s: %w: it follows %d, but the last one applied is %d", d, wire.ErrGap, d.Prev, state.seq)
	}
	sections, err := ps.accepted(d, state)
	if err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	for _, s := range sections {
		p, err := ps.store.PartFor(d.Origin, s.Target, s.Shape)
		if err == nil {
			err = p.Merge(s.Cells)
		}
		if err != nil {
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

// accepted returns the sections of a delta that are to be joined, or the reason why the delta
// cannot be.
func (ps *Peers) accepted(d wire.DeltaBody, state *state) (sections []wire.DeltaSection, err error) {
	for _, s := range d.Sections {
		isWanted, err := ps.accepts(d.Origin, state, s)
		if err != nil {
			return nil, err
		}
		if isWanted {
			sections = append(sections, s)
		}
	}
	if len(sections) == 0 {
		return nil, nil
	}
	return sections, ps.roomForParts(d.Site, sectionsNeed(sections))
}

// accepts reports whether a section is to be joined, or returns the reason why it cannot be. Expired
// ones are not, nor classes if they are disabled here. A site's classes never cost it its reports:
// those that cannot be joined are ignored, and the reason is logged once for each site.
func (ps *Peers) accepts(o layout.Origin, state *state, s wire.DeltaSection) (isWanted bool, err error) {
	if ps.opt.Unwanted(s.Target.Kind) {
		return false, nil
	}
	err = ps.acceptable(o, s)
	if err == nil || s.Target.Kind != layout.ClassFilter {
		return !ps.opt.Expired(s.Target), err
	}
	if !state.classesRefused {
		state.classesRefused = true
		ps.opt.Log.Warn("classes of another site's reports are ignored", "site", o.Site, "error", err)
	}
	return false, nil
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
	// The newest generation decides. A site that could write into the next one a week before it
	// begins would overrule all reports of that week, beyond the rungs of any ladder.
	if ps.opt.Future(s.Target, clock.MaxSkew) {
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
