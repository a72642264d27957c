package store

import (
	"iter"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
)

// ownFilter gives access to one of the site's own filters, of bits or of counts.
type ownFilter struct {
	Shape layout.Shape
	Cell  func(pos uint64) uint32
	Block func(i uint64, dst []filter.Cell) []filter.Cell
}

func (st *Store) OwnFilter(t layout.Target) (f ownFilter, ok bool) {
	v := st.View.Load()
	if t.Kind == layout.CountFilter {
		g := v.Count(t.Gen)
		if g == nil || g.Own == nil {
			return f, false
		}
		return ownFilter{layout.CountsShape(g.Own.Shape()), g.Own.Cell, g.Own.Block}, true
	}
	g := v.Report(t.Gen)
	switch {
	case g == nil:
		return f, false
	case t.Kind == layout.DomainFilter:
		if g.Domains == nil {
			return f, false
		}
		return ownFilter{layout.CountsShape(g.Domains.Shape()), g.Domains.Cell, g.Domains.Block}, true
	case g.Listing(t.Kind).Own == nil:
		return f, false
	}
	own := g.Listing(t.Kind).Own
	bit := func(pos uint64) uint32 {
		if own.Bit(pos) {
			return 1
		}
		return 0
	}
	return ownFilter{layout.BitsShape(own.Shape()), bit, own.Block}, true
}

// OwnBitsSet returns the number of ones of all own reports.
func (st *Store) OwnBitsSet() (n int64) {
	for _, g := range st.View.Load().Reports {
		for _, kind := range layout.ReportKinds {
			if own := g.Listing(kind).Own; own != nil {
				n += own.Ones()
			}
		}
	}
	return n
}

// ownCells is a filter of this site's own, of bits or of counts.
type ownCells interface {
	Block(i uint64, dst []filter.Cell) []filter.Cell
	AppendRaw(i uint64, dst []byte) (raw []byte, used int)
}

// OwnSnapshots returns this site's own filters, one for each file. self is this site in its
// current epoch; the filters contain all records of the journal before at.
func (st *Store) OwnSnapshots(self layout.Origin, at folder.LSN) []folder.Pending {
	var list []folder.Pending
	for sec, changes := range st.OwnSections() {
		list = append(list, folder.Pending{
			Path:  snapshot.OwnPath(st.Opt.Dir, sec.Target),
			State: folder.Saved{Changes: changes + 1, Sections: 1},
			Write: snapshot.File{Origin: self, Seq: uint64(at), Sections: []snapshot.Section{sec}}.Writer(st.Ring.KeyID),
		})
	}
	return list
}

// OwnSections yields this site's own filters as sections of snapshots, with their number of
// changes.
func (st *Store) OwnSections() iter.Seq2[snapshot.Section, int64] {
	return func(yield func(snapshot.Section, int64) bool) {
		going := true
		add := func(t layout.Target, changes int64, s layout.Shape, own ownCells) {
			period := int64(st.Opt.Period(t.Kind) / time.Second)
			going = going && yield(snapshot.Section{Target: t, Period: period, Shape: s, Block: own.Block, Raw: own.AppendRaw}, changes)
		}
		v := st.View.Load()
		for _, g := range v.Reports {
			for _, kind := range layout.ReportKinds {
				if own := g.Listing(kind).Own; own != nil {
					add(layout.Target{Kind: kind, Gen: g.Num}, own.Ones(), layout.BitsShape(own.Shape()), own)
				}
			}
			if own := g.Domains; own != nil {
				add(layout.Target{Kind: layout.DomainFilter, Gen: g.Num}, own.Changes(), layout.CountsShape(own.Shape()), own)
			}
		}
		for _, g := range v.Counts {
			if g.Own != nil {
				add(layout.Target{Kind: layout.CountFilter, Gen: g.Num}, g.Own.Changes(), layout.CountsShape(g.Own.Shape()), g.Own)
			}
		}
	}
}
