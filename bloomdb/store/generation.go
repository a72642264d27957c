package store

import (
	"cmp"
	"iter"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/mask"
)

// View is everything that Judge reads. A view never changes: a change of its structure makes a
// new view. Its filters do change, and are safe for concurrent use.
type View struct {
	Reports []*ReportGeneration // newest first
	Counts  []*CountGeneration  // newest first
	Trusted *TrustedSites       // the sites whose parts are looked up
}

type ReportGeneration struct {
	Num      int64
	Spam     Listing
	Revoked  Listing
	classes  Listing        // of (class, signature) pairs; empty if classes are off
	Sketches Listing        // of groups of near-duplicates, reported and revoked; empty if disabled
	Ladder   Listing        // rungs of signatures that were reported and revoked, from layout.FirstRung on
	Domains  *filter.Counts // counts of link domains; nil before the first count
	Mask     *mask.Mask     // hides bits of the spam filters; nil before the first retouch
}

// Listing is one kind of bit filter in one generation: own, joined, and by site.
type Listing struct {
	Own     *filter.Bits // this site's bits; nil before the first key
	Others  *filter.Bits // joined bits of all trusted parts; nil before the first part
	Parts   []SitePart   // those of other sites
	Trusted []SitePart   // those of trusted sites: only these are looked up
}

type CountGeneration struct {
	Num   int64
	Own   *filter.Counts // nil before the first count
	Parts []SitePart
	// CountedParts are the parts whose counts are added: those of trusted sites, without
	// epochs whose counts a later epoch includes.
	CountedParts []SitePart
}

// Listing returns one of the bit filters of a generation.
func (g *ReportGeneration) Listing(kind layout.Kind) *Listing {
	switch kind {
	case layout.RevokedFilter:
		return &g.Revoked
	case layout.ClassFilter:
		return &g.classes
	case layout.SketchFilter:
		return &g.Sketches
	case layout.LadderFilter:
		return &g.Ladder
	}
	return &g.Spam
}

func (v *View) Report(num int64) *ReportGeneration {
	for _, g := range v.Reports {
		if g.Num == num {
			return g
		}
	}
	return nil
}

func (v *View) Count(num int64) *CountGeneration {
	for _, g := range v.Counts {
		if g.Num == num {
			return g
		}
	}
	return nil
}

// Joined returns what other sites have sent of a filter: the parts of all origins, and their joined
// bits, nil for counts and before the first part.
func (v *View) Joined(t layout.Target) (parts []SitePart, others *filter.Bits) {
	if t.Kind == layout.CountFilter {
		if g := v.Count(t.Gen); g != nil {
			parts = g.Parts
		}
	} else if g := v.Report(t.Gen); g != nil {
		l := g.Listing(t.Kind)
		parts, others = l.Parts, l.Others
	}
	return parts, others
}

// addPart adds an empty part to a filter.
func (v *View) addPart(t layout.Target, p SitePart) error {
	if t.Kind == layout.CountFilter {
		return v.editCount(t.Gen, func(g *CountGeneration) error {
			g.Parts = append(g.Parts, p)
			return nil
		})
	}
	return v.editReport(t.Gen, func(g *ReportGeneration) (err error) {
		l := g.Listing(t.Kind)
		if l.Others == nil {
			l.Others, err = filter.NewBits(p.Shape.Bits())
		} else if here := layout.BitsShape(l.Others.Shape()); here != p.Shape {
			err = layout.Differs(p.Shape, here)
		}
		l.Parts = append(l.Parts, p)
		return err
	})
}

// Change makes a new view. edit may replace elements of the slices, but must not change what
// they point to. It runs under viewMu.
func (st *Store) Change(edit func(v *View) error) error {
	st.viewMu.Lock()
	defer st.viewMu.Unlock()
	old := st.View.Load()
	next := &View{Reports: slices.Clone(old.Reports), Counts: slices.Clone(old.Counts), Trusted: old.Trusted}
	if err := edit(next); err != nil {
		return err
	}
	st.View.Store(next)
	return nil
}

// editReport replaces a generation of reports by a copy that f changes, and selects its trusted
// parts anew. It adds a missing generation.
func (v *View) editReport(num int64, f func(g *ReportGeneration) error) error {
	return edit(&v.Reports, ReportGeneration{Num: num}, (*ReportGeneration).number, func(g *ReportGeneration) error {
		for _, kind := range layout.ReportKinds {
			l := g.Listing(kind)
			l.Parts = slices.Clone(l.Parts)
		}
		if err := f(g); err != nil {
			return err
		}
		for _, kind := range layout.ReportKinds {
			l := g.Listing(kind)
			l.Trusted = v.Trusted.only(l.Parts)
		}
		return nil
	})
}

// editCount does the same for generations of counts.
func (v *View) editCount(num int64, f func(g *CountGeneration) error) error {
	return edit(&v.Counts, CountGeneration{Num: num}, (*CountGeneration).number, func(g *CountGeneration) error {
		g.Parts = slices.Clone(g.Parts)
		if err := f(g); err != nil {
			return err
		}
		g.CountedParts = Counted(v.Trusted.only(g.Parts))
		return nil
	})
}

func (g *ReportGeneration) number() int64 { return g.Num }
func (g *CountGeneration) number() int64  { return g.Num }

// edit replaces a generation of a list, newest first, by a copy that f changes. If the list does
// not contain the generation, f changes made, which is added.
func edit[G any](list *[]*G, made G, number func(*G) int64, f func(*G) error) error {
	num := number(&made)
	i := slices.IndexFunc(*list, func(g *G) bool { return number(g) <= num })
	if i < 0 {
		i = len(*list)
	}
	if i < len(*list) && number((*list)[i]) == num {
		made = *(*list)[i]
	} else {
		*list = slices.Insert(*list, i, nil)
	}
	if err := f(&made); err != nil {
		return err
	}
	(*list)[i] = &made
	return nil
}

// Counted returns the parts without epochs whose counts a later epoch of the site includes.
func Counted(parts []SitePart) []SitePart {
	epochs := slices.Clone(parts)
	slices.SortFunc(epochs, func(a, b SitePart) int {
		return cmp.Or(cmp.Compare(a.Origin.Site, b.Origin.Site), cmp.Compare(b.Origin.Epoch, a.Origin.Epoch))
	})
	var out []SitePart
	for i, p := range epochs {
		carried := i > 0 && epochs[i-1].Origin.Site == p.Origin.Site && folder.CarriesOver(epochs[i-1].Origin.Epoch, p.Origin.Epoch)
		if !carried {
			out = append(out, p)
		}
	}
	return out
}

// slot is the place of a *T in a view: find returns generation G, and edit copies it.
type slot[G, T any] struct {
	find func(*View, int64) *G
	edit func(*View, int64, func(*G) error) error
	in   func(*G) **T
}

// findOrMake returns the content of a slot, and builds it if necessary.
func findOrMake[G, T any](st *Store, gen int64, s slot[G, T], build func() (*T, error)) (made *T, err error) {
	if g := s.find(st.View.Load(), gen); g != nil && *s.in(g) != nil {
		return *s.in(g), nil
	}
	err = st.Change(func(v *View) error {
		return s.edit(v, gen, func(g *G) (err error) {
			at := s.in(g)
			if *at == nil {
				*at, err = build()
			}
			made = *at
			return err
		})
	})
	return made, err
}

// inReports returns a slot of a generation of reports.
func inReports[T any](in func(*ReportGeneration) **T) slot[ReportGeneration, T] {
	return slot[ReportGeneration, T]{(*View).Report, (*View).editReport, in}
}

// OwnBits returns this site's filter of a generation. It creates a missing filter with the
// given shape.
func (st *Store) OwnBits(t layout.Target, s filter.BitsShape) (*filter.Bits, error) {
	in := func(g *ReportGeneration) **filter.Bits { return &g.Listing(t.Kind).Own }
	return findOrMake(st, t.Gen, inReports(in), func() (*filter.Bits, error) { return filter.NewBits(s) })
}

// OwnCounts returns this site's counting filter of a generation, and creates a missing one.
func (st *Store) OwnCounts(gen int64) (*filter.Counts, error) {
	return st.ownCounts(gen, st.countsShape)
}

// ownCounts does the same. It creates a missing filter with the given shape.
func (st *Store) ownCounts(gen int64, s filter.CountsShape) (*filter.Counts, error) {
	in := func(g *CountGeneration) **filter.Counts { return &g.Own }
	at := slot[CountGeneration, filter.Counts]{(*View).Count, (*View).editCount, in}
	return findOrMake(st, gen, at, func() (*filter.Counts, error) { return filter.NewCounts(s) })
}

// ShapeFor returns the shape of a bit filter in a generation: the shape of the existing filters,
// which may come from an earlier setting, else the one of the options.
func (st *Store) ShapeFor(t layout.Target) filter.BitsShape {
	if g := st.View.Load().Report(t.Gen); g != nil {
		l := g.Listing(t.Kind)
		if l.Own != nil {
			return l.Own.Shape()
		}
		if l.Others != nil {
			return l.Others.Shape()
		}
		if t.Kind == layout.SpamFilter && g.Mask != nil {
			return g.Mask.Shape()
		}
	}
	switch t.Kind {
	case layout.RevokedFilter:
		return st.revokedShape
	case layout.ClassFilter:
		return st.classShape
	case layout.SketchFilter:
		return st.sketchShape
	case layout.LadderFilter:
		return st.ladderShape
	}
	return st.spamShape
}

// Current returns the view without expired generations, and without what other sites wrote into those that
// have not begun.
func (st *Store) Current() View {
	v := *st.View.Load()
	now := st.Opt.Now()
	oldest := func(k layout.Kind) int64 { return st.Opt.Generation(k, now) - int64(st.Opt.Keep(k)) + 1 }
	reports, counts := oldest(layout.SpamFilter), oldest(layout.CountFilter)
	for len(v.Reports) > 0 && v.Reports[len(v.Reports)-1].Num < reports {
		v.Reports = v.Reports[:len(v.Reports)-1]
	}
	for len(v.Counts) > 0 && v.Counts[len(v.Counts)-1].Num < counts {
		v.Counts = v.Counts[:len(v.Counts)-1]
	}
	soon := now.Add(clock.MaxSkew)
	v.hideEarly(st.Opt.Generation(layout.SpamFilter, soon), st.Opt.Generation(layout.CountFilter, soon))
	return v
}

// hideEarly hides what other sites have of generations after the given ones: this site's clock was ahead. The
// newest generation decides, so it would overrule all other sites' reports until it begins.
func (v *View) hideEarly(reports, counts int64) {
	if len(v.Reports) > 0 && v.Reports[0].Num > reports {
		v.Reports = slices.Clone(v.Reports)
	}
	for i, g := range v.Reports {
		if g.Num <= reports {
			break
		}
		v.Reports[i] = &ReportGeneration{Num: g.Num, Domains: g.Domains, Mask: g.Mask}
		for _, kind := range layout.ReportKinds {
			v.Reports[i].Listing(kind).Own = g.Listing(kind).Own
		}
	}
	if len(v.Counts) > 0 && v.Counts[0].Num > counts {
		v.Counts = slices.Clone(v.Counts)
	}
	for i, g := range v.Counts {
		if g.Num <= counts {
			break
		}
		v.Counts[i] = &CountGeneration{Num: g.Num, Own: g.Own}
	}
}

// Expire drops generations that were expired at layout.KeepExpired calls in a row. Run calls it each
// second.
func (st *Store) Expire() (dropped bool) {
	all, v := st.View.Load(), st.Current()
	if len(all.Reports) == len(v.Reports) && len(all.Counts) == len(v.Counts) {
		st.expiredTicks = 0
		return false
	}
	if st.expiredTicks++; st.expiredTicks < layout.KeepExpired {
		return false
	}
	st.expiredTicks = 0
	_ = st.Change(func(v *View) error {
		v.Reports = slices.DeleteFunc(v.Reports, func(g *ReportGeneration) bool {
			return st.Opt.Expired(layout.Target{Kind: layout.SpamFilter, Gen: g.Num})
		})
		v.Counts = slices.DeleteFunc(v.Counts, func(g *CountGeneration) bool {
			return st.Opt.Expired(layout.Target{Kind: layout.CountFilter, Gen: g.Num})
		})
		return nil
	})
	return true
}

// AllParts yields the other sites' parts of every filter.
func (v *View) AllParts() iter.Seq2[layout.Target, []SitePart] {
	return func(yield func(layout.Target, []SitePart) bool) {
		for _, g := range v.Reports {
			for _, kind := range layout.ReportKinds {
				if !yield(layout.Target{Kind: kind, Gen: g.Num}, g.Listing(kind).Parts) {
					return
				}
			}
		}
		for _, g := range v.Counts {
			if !yield(layout.Target{Kind: layout.CountFilter, Gen: g.Num}, g.Parts) {
				return
			}
		}
	}
}
