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
	shown  *coded.Part  // of sketches being loaded: those that are looked up; else nil
}

// Install joins a whole block, as coded.Part.Install does.
func (p *PartOf) Install(block uint64, code []byte, dst []filter.Cell, accept func([]filter.Cell) error) (cells []filter.Cell, err error) {
	cells, err = p.Part.Install(block, code, dst, accept)
	if err == nil && p.Others != nil {
		p.Others.SetCells(cells)
	}
	return cells, err
}

// OnlyFresh reports whether cells that the part has already are left out, so that blocks cannot be
// installed as they are.
func (p *PartOf) OnlyFresh() bool { return p.shown != nil && p.shown.Cells() > 0 }

// Merge joins the cells of one block.
func (p *PartOf) Merge(cells []filter.Cell) error {
	if p.OnlyFresh() {
		cells = missing(p.shown, cells)
	}
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

	// Loading contains the sketches of a snapshot that is being read, as far as Part does not
	// contain them. One filter holds the groups that were reported and those that were revoked, so
	// near-duplicates of revoked messages would match if a part of a snapshot were looked up.
	Loading *coded.Part
}

// Cells and Bytes include what is being loaded.
func (p *SitePart) Cells() (n int64) {
	if p.Loading != nil {
		n = p.Loading.Cells()
	}
	return n + p.Part.Cells()
}

func (p *SitePart) Bytes() (n int64) {
	if p.Loading != nil {
		n = p.Loading.Bytes()
	}
	return n + p.Part.Bytes()
}

// Block appends the cells of a block that are looked up, and then those that are being loaded.
func (p *SitePart) Block(i uint64, dst []filter.Cell) []filter.Cell {
	dst = p.Part.Block(i, dst)
	if p.Loading != nil {
		dst = p.Loading.Block(i, dst)
	}
	return dst
}

// AddLine sets those bits of a line that are in line i of the part.
func (p *SitePart) AddLine(i uint64, line *filter.Line) {
	p.Part.AddLine(i, line)
	if p.Loading != nil {
		p.Loading.AddLine(i, line)
	}
}

func (p *SitePart) Count(h filter.Hash) uint32 {
	positions := p.Shape.Counts().Positions(h)
	return p.Part.Min(positions[:])
}

// joinTo sets the part's bits in a filter of the same shape.
func (p *SitePart) joinTo(b *filter.Bits) {
	var cells []filter.Cell
	for i := range filter.Blocks(p.Part.Size(), false) {
		cells = p.Block(i, cells[:0])
		b.SetCells(cells)
	}
}
