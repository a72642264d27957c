package peers

import (
	"fmt"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

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

// accepts is acceptable, but a site's classes never cost it its reports: those that cannot be
// joined are ignored, and the reason is logged once for each site. So are counts of another shape than
// those of an earlier epoch of the site: whether all its counts together are too large could not be told.
func (ps *Peers) accepts(o layout.Origin, state *state, s wire.DeltaSection) (isWanted bool, err error) {
	if s.Target.Kind.Counts() && ps.isReshaped(o, s) {
		if !state.countsRefused {
			state.countsRefused = true
			ps.opt.Log.Warn("counts of another site are ignored until the next period: those of its earlier epoch have another capacity", "site", o.Site)
		}
		return false, nil
	}
	isWanted, err = ps.acceptable(o, s)
	if err == nil && !isWanted && !ps.opt.Unwanted(s.Target.Kind) {
		state.ignore(s.Target)
	}
	if err == nil || s.Target.Kind != layout.ClassFilter {
		return isWanted, err
	}
	if !state.classesRefused {
		state.classesRefused = true
		ps.opt.Log.Warn("classes of another site's reports are ignored", "site", o.Site, "error", err)
	}
	return false, nil
}

// isReshaped reports whether another epoch of the site has counts of another shape.
func (ps *Peers) isReshaped(o layout.Origin, s wire.DeltaSection) bool {
	parts, _ := ps.store.View.Load().Joined(s.Target)
	return slices.ContainsFunc(parts, func(p store.SitePart) bool {
		return p.Origin.Site == o.Site && p.Origin != o && p.Shape != s.Shape
	})
}

// acceptable reports whether a section is to be joined, or returns the reason why it cannot be.
// Expired ones are not wanted, nor kinds that the options disable.
func (ps *Peers) acceptable(o layout.Origin, s wire.DeltaSection) (isWanted bool, err error) {
	if ps.opt.Unwanted(s.Target.Kind) {
		return false, nil
	}
	what := fmt.Sprintf("%s generation %d", s.Target.Kind, s.Target.Gen)
	switch here := int64(ps.opt.Period(s.Target.Kind) / time.Second); {
	case s.Period != here:
		return false, fmt.Errorf("%s: %w: period there %d s, here %d s", what, layout.ErrParameters, s.Period, here)
	case ps.opt.Expired(s.Target):
		return false, nil
	// The newest generation decides. A site that could write into the next one a week before it
	// begins would overrule all reports of that week, beyond the rungs of any ladder.
	case ps.opt.Future(s.Target, clock.MaxSkew):
		return false, fmt.Errorf("%s begins in the future, at %s: %w", what, ps.opt.Start(s.Target).Format(time.RFC3339), layout.ErrClock)
	}
	parts, others := ps.store.View.Load().Joined(s.Target)
	here := ps.store.ShapeFor(s.Target)
	if s.Target.Kind.Counts() {
		for _, p := range parts {
			if p.Origin == o && p.Shape != s.Shape {
				return false, fmt.Errorf("%s: %w: %d lines, previously %d", what, layout.ErrParameters, s.Shape.Lines, p.Shape.Lines)
			}
		}
	} else if layout.BitsShape(here) != s.Shape {
		return false, fmt.Errorf("%s: %w (set reports.capacity, keep and max_error_per_mail equal at all sites)", what, layout.Differs(s.Shape, layout.BitsShape(here)))
	}
	if err := ps.withinCap(what, o, s, parts); err != nil || s.Target.Kind.Counts() {
		return err == nil, err
	}
	ones := int64(len(s.Cells))
	if others != nil {
		ones = others.Ones()
		for _, c := range s.Cells {
			if !others.Bit(c.Pos) {
				ones++
			}
		}
	}
	return true, ps.opt.Fits(what, here, ones, s.Target)
}
