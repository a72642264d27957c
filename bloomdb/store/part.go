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

// PartFor returns an origin's part of a filter, and creates it if necessary.
func (st *Store) PartFor(o layout.Origin, t layout.Target, s layout.Shape) (p *PartOf, err error) {
	if p := st.View.Load().partOf(o, t, s); p != nil {
		return p, nil // making a view for each record would take longer than the record
	}
	if t.Kind == layout.CountFilter {
		err = st.Change(func(v *View) error {
			return v.editCount(t.Gen, func(g *CountGeneration) error {
				p = &PartOf{Part: findPart(&g.Parts, o, t.Kind, s)}
				return nil
			})
		})
		return p, err
	}
	err = st.Change(func(v *View) error {
		return v.editReport(t.Gen, func(g *ReportGeneration) (err error) {
			l := g.Listing(t.Kind)
			if l.Others == nil {
				if l.Others, err = filter.NewBits(s.Bits()); err != nil {
					return err
				}
			} else if here := layout.BitsShape(l.Others.Shape()); here != s {
				return layout.Differs(s, here)
			}
			p = &PartOf{Part: findPart(&l.Parts, o, t.Kind, s), Others: l.Others}
			if !v.Trusted.Includes(o.Site) {
				p.Others = nil
			}
			return nil
		})
	})
	return p, err
}

// partOf returns an origin's part of a filter; nil if it must be created.
func (v *View) partOf(o layout.Origin, t layout.Target, s layout.Shape) *PartOf {
	ofOrigin := func(p SitePart) bool { return p.Origin == o && p.Shape == s }
	if t.Kind == layout.CountFilter {
		if g := v.Count(t.Gen); g != nil {
			if i := slices.IndexFunc(g.Parts, ofOrigin); i >= 0 {
				return &PartOf{Part: g.Parts[i].Part}
			}
		}
		return nil
	}
	g := v.Report(t.Gen)
	if g == nil {
		return nil
	}
	l := g.Listing(t.Kind)
	i := slices.IndexFunc(l.Parts, ofOrigin)
	if i < 0 {
		return nil
	}
	p := &PartOf{Part: l.Parts[i].Part, Others: l.Others}
	if !v.Trusted.Includes(o.Site) {
		p.Others = nil
	}
	return p
}

func findPart(parts *[]SitePart, o layout.Origin, kind layout.Kind, s layout.Shape) *coded.Part {
	for _, p := range *parts {
		if p.Origin == o {
			return p.Part
		}
	}
	part := coded.NewPart(s.Size(kind), kind == layout.CountFilter)
	*parts = append(*parts, SitePart{Origin: o, Shape: s, Part: part})
	return part
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
