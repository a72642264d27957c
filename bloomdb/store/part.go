package store

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// PartOf is the destination of a section's cells.
type PartOf struct {
	Part   *coded.Part
	Others *filter.Bits // nil for counts, and if the site is not trusted
}

func (p *PartOf) Merge(cells []filter.Cell) error {
	if err := p.Part.Merge(cells); err != nil {
		return err
	}
	if p.Others != nil {
		p.Others.SetCells(cells)
	}
	return nil
}

// JoinCells joins cells with an origin's part of a filter.
func (st *Store) JoinCells(o layout.Origin, t layout.Target, s layout.Shape, cells []filter.Cell) error {
	p, err := st.PartFor(o, t, s)
	if err != nil {
		return err
	}
	return p.Merge(cells)
}

// PartFor returns an origin's part of a filter, and creates it if necessary.
func (st *Store) PartFor(o layout.Origin, t layout.Target, s layout.Shape) (*PartOf, error) {
	ofOrigin := func(p SitePart) bool { return p.Origin == o }
	v := st.View.Load()
	parts, others := v.Joined(t)
	i := slices.IndexFunc(parts, ofOrigin)
	if i < 0 { // making a view for each record would take longer than the record
		part := SitePart{Origin: o, Shape: s, Part: coded.NewPart(s.Size(t.Kind), t.Kind.Counts())}
		if err := st.Change(func(v *View) error { return v.addPart(t, part) }); err != nil {
			return nil, err
		}
		v = st.View.Load()
		parts, others = v.Joined(t)
		i = slices.IndexFunc(parts, ofOrigin)
	}
	if parts[i].Shape != s {
		return nil, layout.Differs(s, parts[i].Shape)
	}
	if !v.Trusted.Includes(o.Site) {
		others = nil
	}
	return &PartOf{Part: parts[i].Part, Others: others}, nil
}

// SitePart is one origin's part of a filter, and its shape.
type SitePart struct {
	Origin layout.Origin
	Shape  layout.Shape
	Part   *coded.Part
}

func (p *SitePart) Count(h filter.Hash) uint32 {
	positions := p.Shape.Counts().Positions(h)
	return p.Part.Min(positions[:])
}

// joinTo sets the part's bits in a filter of the same shape.
func (p *SitePart) joinTo(b *filter.Bits) {
	var cells []filter.Cell
	for i := range filter.Blocks(p.Part.Size(), false) {
		cells = p.Part.Block(i, cells[:0])
		b.SetCells(cells)
	}
}
