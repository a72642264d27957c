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

// Cursor is the (epoch, seq) up to which a site is heard, in its latest life: the
// number of the last delta applied, or the position of a snapshot. Zeros for none.
func (db *DB) Cursor(site string) (epoch, seq uint64) {
	db.sitesMu.Lock()
	defer db.sitesMu.Unlock()
	o, state := db.latest(site)
	if state == nil {
		return 0, 0
	}
	return o.epoch, state.seq
}

// latest is a site's latest life of which something is known; nil for none. sitesMu
// is held.
func (db *DB) latest(site string) (o origin, state *siteState) {
	for known, s := range db.sites {
		if known.site == site && known.epoch >= o.epoch {
			o, state = known, s
		}
	}
	return o, state
}

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

// Apply joins another site's delta. Applying one twice, late or out of order
// changes nothing. A record before which something is missing is refused with
// ErrGap unless Order says otherwise, and nothing is changed. Own records are
// ignored. ErrFederation, ErrStranger, ErrUnsigned, ErrTrust, ErrReplayed, ErrClock,
// ErrParameters (both sides' values in the text), ErrFull, or an error that says
// what is torn.
func (db *DB) Apply(data []byte, order Order) error {
	d, err := db.decodeDelta(data)
	if err != nil {
		return err
	}
	if d.Site == db.opt.Site {
		return nil
	}
	if err := db.heardInFull(d.Site); err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	db.sitesMu.Lock()
	defer db.sitesMu.Unlock()
	state, err := db.stateOf(d.Head)
	if err != nil {
		return err
	}
	if d.Seq <= state.seq {
		return nil
	}
	if d.Prev > state.seq && order == Next {
		return fmt.Errorf("%s: %w: it comes after %d, and %d was the last", d, ErrGap, d.Prev, state.seq)
	}
	d.sections = db.joinable(d, state)
	parts, err := db.partsFor(d)
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
	db.sites[d.origin] = state
	return nil
}

// miss notes that something before a number is missing.
func (s *siteState) miss(before uint64, order Order) {
	if order == Lost {
		s.gaps += before - s.seq
	} else {
		s.gaps++ // how many of them were refused is not known here
	}
	s.hole = before
}

// stateOf finds where we stand in a record's life, or makes it where there is room.
// A life that another one has followed tells nothing new. sitesMu is held.
func (db *DB) stateOf(h Head) (*siteState, error) {
	if db.Muted(h.Site) {
		return nil, fmt.Errorf("%s: %w", h, ErrMuted)
	}
	if now, _ := db.latest(h.Site); h.Epoch < now.epoch {
		return nil, fmt.Errorf("%s: %w: epoch %d has followed", h, ErrReplayed, now.epoch)
	}
	if state := db.sites[h.origin()]; state != nil {
		return state, nil
	}
	if err := db.roomForSite(h.Site); err != nil {
		return nil, fmt.Errorf("%s: %w", h, err)
	}
	return &siteState{}, nil
}

func (db *DB) roomForSite(site string) error {
	lives := 0
	for o := range db.sites {
		if o.site == site {
			lives++
		}
	}
	if len(db.sites) >= maxOrigins || lives >= maxLives {
		return fmt.Errorf("%w: %d sites are held, this one in %d lives", ErrFull, len(db.sites), lives)
	}
	return nil
}

// partsLimit is how many bytes all parts may take: twice what this site's own
// filters take when they are full, and never less than 256 MiB.
func (db *DB) partsLimit() int64 {
	reports, counts := db.opt.fullMemory()
	return max(db.leastParts, 2*(reports+counts))
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
func (db *DB) partsFor(d delta) ([]*partOf, error) {
	if len(d.sections) == 0 {
		return nil, nil
	}
	if err := db.roomForParts(d.Site, sectionsNeed(d.sections)); err != nil {
		return nil, err
	}
	for _, s := range d.sections {
		if err := db.acceptable(d.origin, s); err != nil {
			return nil, err
		}
	}
	parts := make([]*partOf, len(d.sections))
	for i, s := range d.sections {
		if db.aged(s.target) {
			continue
		}
		p, err := db.partFor(d.origin, s.target, s.shape)
		if err != nil {
			return nil, err
		}
		parts[i] = p
	}
	return parts, nil
}

// acceptable refuses a section that can't be joined.
func (db *DB) acceptable(o origin, s deltaSection) error {
	what := fmt.Sprintf("%s generation %d", s.target.kind, s.target.gen)
	if here := int64(db.opt.period(s.target.kind) / time.Second); s.period != here {
		return fmt.Errorf("%s: %w: period there %d s, here %d s", what, ErrParameters, s.period, here)
	}
	if db.aged(s.target) {
		return nil
	}
	if db.early(s.target) {
		return fmt.Errorf("%s begins %s: %w", what, db.opt.start(s.target).Format(time.RFC3339), ErrClock)
	}
	if s.target.kind == countFilter {
		if g := db.view.Load().count(s.target.gen); g != nil {
			for _, p := range g.parts {
				if p.origin == o && p.shape != s.shape {
					return fmt.Errorf("%s: %w: %d lines, before %d", what, ErrParameters, s.shape.lines, p.shape.lines)
				}
			}
		}
		return db.withinCap(what, o, s)
	}
	here := db.shapeFor(s.target)
	if bitsShape(here) != s.shape {
		return fmt.Errorf("%s: %w (reports.capacity, keep and max_error_per_mail must be equal at all sites)", what, differs(s.shape, bitsShape(here)))
	}
	if err := db.withinCap(what, o, s); err != nil {
		return err
	}
	g := db.view.Load().report(s.target.gen)
	if g == nil || g.listing(s.target.kind).others == nil {
		return db.fits(what, here, int64(len(s.cells)), s.target)
	}
	others := g.listing(s.target.kind).others
	fresh := others.Ones()
	for _, c := range s.cells {
		if !others.Bit(c.Pos) {
			fresh++
		}
	}
	return db.fits(what, here, fresh, s.target)
}

// fits refuses to fill a bit filter so far that its error would grow beyond what
// it was made for. It is also what stops a site that sends all ones.
func (db *DB) fits(what string, s filter.BitsShape, ones int64, t target) error {
	if limit := db.fillLimit(t.kind, s); ones > limit {
		return fmt.Errorf("%s: %w: %d bits set, at most %d", what, ErrFull, ones, limit)
	}
	return nil
}

// fillLimit is the number of ones up to which a bit filter may be filled.
func (db *DB) fillLimit(kind filterKind, s filter.BitsShape) int64 { return db.onesOf(kind, s, 1) }

// onesOf is the number of ones that a share of what a generation is planned for sets.
func (db *DB) onesOf(kind filterKind, s filter.BitsShape, share float64) int64 {
	keys := db.opt.keysPerGeneration()
	switch kind {
	case revokedFilter:
		keys /= revokedShare
	case sketchFilter:
		keys = db.opt.sketchEntriesPerGeneration()
	}
	return max(int64(s.Fill(share*keys)*float64(s.Size())), int64(4*s.K))
}

// partFor finds or makes an origin's part of a filter.
func (db *DB) partFor(o origin, t target, s shape) (p *partOf, err error) {
	if p := db.view.Load().partOf(o, t, s); p != nil {
		return p, nil // a new view for each record would take longer than the record
	}
	if t.kind == countFilter {
		err = db.change(func(v *view) error {
			return v.editCount(t.gen, func(g *countGeneration) error {
				p = &partOf{part: findPart(&g.parts, o, t.kind, s)}
				return nil
			})
		})
		return p, err
	}
	err = db.change(func(v *view) error {
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
			if !v.voices.hears(o.site) {
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
	if !v.voices.hears(o.site) {
		p.others = nil
	}
	return p
}

func differs(there, here shape) error {
	return fmt.Errorf("%w: there %v, here %v", ErrParameters, there.bits(), here.bits())
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
