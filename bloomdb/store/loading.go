package store

import (
	"cmp"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// LoadingFor returns the destination of a snapshot's section: an origin's part of a filter, and for
// sketches the part that is looked up only after ShowLoaded.
func (st *Store) LoadingFor(o layout.Origin, t layout.Target, s layout.Shape) (*PartOf, error) {
	to, err := st.PartFor(o, t, s)
	if err != nil || t.Kind != layout.SketchFilter {
		return to, err
	}
	to.shown = to.Part
	parts, _ := st.View.Load().Joined(t)
	i := slices.IndexFunc(parts, func(p SitePart) bool { return p.Origin == o })
	if to.Part = parts[i].Loading; to.Part == nil {
		to.Part = coded.NewPart(to.shown.Size(), false)
		err = st.editPart(t.Gen, o, func(p *SitePart) { p.Loading = to.Part })
	}
	return to, err
}

// ShowLoaded ends the loading of an origin's sketches: from now on they are looked up, all of a
// generation at once. Those of incomplete generations go on loading. The caller lets no part of the
// origin change meanwhile.
func (st *Store) ShowLoaded(o layout.Origin, incomplete []int64) error {
	for _, g := range st.View.Load().Reports {
		i := slices.IndexFunc(g.Sketches.Parts, func(p SitePart) bool { return p.Origin == o && p.Loading != nil })
		if i < 0 || slices.Contains(incomplete, g.Num) {
			continue
		}
		p := g.Sketches.Parts[i]
		for b := range filter.Blocks(p.Part.Size(), false) {
			if err := p.Loading.Merge(p.Part.Block(b, nil)); err != nil {
				return err
			}
		}
		if err := st.editPart(g.Num, o, func(p *SitePart) { p.Part, p.Loading = p.Loading, nil }); err != nil {
			return err
		}
	}
	return nil
}

// editPart changes an origin's part of a generation's sketches.
func (st *Store) editPart(gen int64, o layout.Origin, edit func(p *SitePart)) error {
	return st.Change(func(v *View) error {
		return v.editReport(gen, func(g *ReportGeneration) error {
			for i := range g.Sketches.Parts {
				if g.Sketches.Parts[i].Origin == o {
					edit(&g.Sketches.Parts[i])
				}
			}
			return nil
		})
	})
}

// missing returns the cells of one block that a part does not contain.
func missing(p *coded.Part, cells []filter.Cell) []filter.Cell {
	if len(cells) == 0 {
		return nil
	}
	held := p.Block(cells[0].Pos/filter.BlockSize(false), nil)
	return slices.DeleteFunc(slices.Clone(cells), func(c filter.Cell) bool {
		_, found := slices.BinarySearchFunc(held, c, func(a, b filter.Cell) int { return cmp.Compare(a.Pos, b.Pos) })
		return found
	})
}
