package bloomdb

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// filterKind is one of the filters of a generation.
type filterKind uint8

// The numbers stand in snapshots and deltas.
const (
	spamFilter    filterKind = 1
	revokedFilter filterKind = 2
	countFilter   filterKind = 3
	classFilter   filterKind = 4
	sketchFilter  filterKind = 5
	domainFilter  filterKind = 6 // counts; of this site only, in generations of reports
)

// reportKinds are the bit filters of a generation of reports.
var reportKinds = [...]filterKind{spamFilter, revokedFilter, classFilter, sketchFilter}

func (k filterKind) String() string {
	switch k {
	case spamFilter:
		return "spam"
	case revokedFilter:
		return "revoked"
	case countFilter:
		return "counts"
	case classFilter:
		return "classes"
	case sketchFilter:
		return "sketches"
	case domainFilter:
		return "domains"
	}
	return "unknown"
}

// blockSize is the number of cells that are coded together.
func (k filterKind) blockSize() uint64 { return filter.BlockSize(k.counts()) }

func (k filterKind) valid() bool { return k >= spamFilter && k <= domainFilter }

// counts says that the filter has counts, not bits.
func (k filterKind) counts() bool { return k == countFilter || k == domainFilter }

// unknown is the error for a kind that is not valid.
func (k filterKind) unknown() error {
	return fmt.Errorf("filter kind %d, which this program does not know: %w", uint8(k), ErrNewer)
}

// target names one filter of one generation.
type target struct {
	kind filterKind
	gen  int64
}

// before is the order of sections in a record: by kind, then by generation.
func (t target) before(u target) bool {
	return t.kind < u.kind || t.kind == u.kind && t.gen < u.gen
}

// origin is a site in one of its lives: a state folder made anew counts anew.
type origin struct {
	site  string
	epoch uint64
}

// view is all that Judge sees. It is never changed: a change of its structure
// makes a new one. The filters in it do change, and are safe for that.
type view struct {
	reports []*reportGeneration // newest first
	counts  []*countGeneration  // newest first
	trusted *trustedSites       // the sites whose parts are looked up
}

type reportGeneration struct {
	num      int64
	spam     listing
	revoked  listing
	classes  listing        // of (class, signature) pairs; empty where classes are off
	sketches listing        // of near-duplicates' groups, reported and revoked; empty where they are off
	domains  *filter.Counts // of link domains; nil before the first count
	mask     *mask          // over the spam listing; nil before the first retouch
}

// listing is one bit filter of a generation in its three forms.
type listing struct {
	own     *filter.Bits // this site's; nil before its first key
	others  *filter.Bits // the bits of all trusted parts, joined; nil before the first part
	parts   []sitePart   // each other site's
	trusted []sitePart   // of trusted sites: only these are looked up
}

type countGeneration struct {
	num   int64
	own   *filter.Counts // nil before the first count
	parts []sitePart
	// countedParts are those whose counts are added: of sites that have a say, all
	// but the lives whose counts the next life carried over.
	countedParts []sitePart
}

// sitePart is one origin's part of a filter, and its geometry.
type sitePart struct {
	origin origin
	shape  shape
	part   *filter.Part
}

// shape is the geometry of any filter, as snapshots and deltas tell it.
type shape struct {
	lines   uint64
	k       int  // bits a key; 4 for counts
	oneLine bool // a key's bits stand in one line, not in two
}

func (s shape) bits() filter.BitsShape {
	b := filter.BitsShape{Lines: s.lines, K: s.k}
	if s.oneLine {
		b.Span = 1
	}
	return b
}

func (s shape) counts() filter.CountsShape { return filter.CountsShape{Lines: s.lines} }

func bitsShape(b filter.BitsShape) shape     { return shape{b.Lines, b.K, b.Span == 1} }
func countsShape(c filter.CountsShape) shape { return shape{c.Lines, 4, false} }

// oneLineFlag stands in the byte of k.
const oneLineFlag = 0x80

func (s shape) appendTo(dst []byte) []byte {
	k := byte(s.k)
	if s.oneLine {
		k |= oneLineFlag
	}
	return append(binary.BigEndian.AppendUint64(dst, s.lines), k)
}

func decodeShape(lines uint64, k byte) shape {
	return shape{lines, int(k &^ oneLineFlag), k&oneLineFlag != 0}
}

func (s shape) size(kind filterKind) uint64 {
	if kind.counts() {
		return s.counts().Size()
	}
	return s.bits().Size()
}

func (s shape) blocks(kind filterKind) uint64 {
	return filter.Blocks(s.size(kind), kind.counts())
}

func (s shape) valid(kind filterKind) error {
	if !kind.counts() {
		return s.bits().Valid()
	}
	if s != countsShape(s.counts()) {
		return fmt.Errorf("k is %d, must be 4", s.k)
	}
	return s.counts().Valid()
}

// listing returns one of the bit filters of a generation.
func (g *reportGeneration) listing(kind filterKind) *listing {
	switch kind {
	case revokedFilter:
		return &g.revoked
	case classFilter:
		return &g.classes
	case sketchFilter:
		return &g.sketches
	}
	return &g.spam
}

func (v *view) report(num int64) *reportGeneration {
	for _, g := range v.reports {
		if g.num == num {
			return g
		}
	}
	return nil
}

func (v *view) count(num int64) *countGeneration {
	for _, g := range v.counts {
		if g.num == num {
			return g
		}
	}
	return nil
}

// period is the length of a kind's generations.
func (o *settings) period(kind filterKind) time.Duration {
	if kind == countFilter {
		return o.Counts.Period
	}
	return o.Reports.Period
}

func (o *settings) keep(kind filterKind) int {
	if kind == countFilter {
		return o.Counts.Keep
	}
	return o.Reports.Keep
}

// generation is the number of the period in which t falls, counted from 1970.
func (o *settings) generation(kind filterKind, t time.Time) int64 {
	return t.Unix() / int64(o.period(kind)/time.Second)
}

func (o *settings) start(t target) time.Time {
	return time.Unix(t.gen*int64(o.period(t.kind)/time.Second), 0).UTC()
}

// aged says that a generation is older than those kept. A generation of the
// future is not: a clock set back must not destroy what is known.
func (o *settings) aged(t target) bool {
	return t.gen <= o.generation(t.kind, o.Now())-int64(o.keep(t.kind))
}

// early says that a generation is further ahead than the clocks of sites may
// differ: more than one period.
func (o *settings) early(t target) bool {
	return t.gen > o.generation(t.kind, o.Now())+1
}

// holdsReports reports whether there are reports, of any site.
func (ks *keyspace) holdsReports() bool {
	for _, g := range ks.store.view.Load().reports {
		for _, kind := range reportKinds {
			if l := g.listing(kind); l.own != nil || len(l.parts) > 0 {
				return true
			}
		}
	}
	return len(ks.votes.voters.all()) > 0
}

// change makes a new view. edit may replace the slices' elements and must not
// change what they point to; it runs under db.viewMu.
func (st *store) change(edit func(v *view) error) error {
	st.viewMu.Lock()
	defer st.viewMu.Unlock()
	old := st.view.Load()
	next := &view{reports: slices.Clone(old.reports), counts: slices.Clone(old.counts), trusted: old.trusted}
	if err := edit(next); err != nil {
		return err
	}
	st.view.Store(next)
	return nil
}

// editReport replaces (or adds) a generation by a copy that f may change.
func (v *view) editReport(num int64, f func(g *reportGeneration) error) error {
	i := slices.IndexFunc(v.reports, func(g *reportGeneration) bool { return g.num <= num })
	if i < 0 {
		i = len(v.reports)
	}
	g := reportGeneration{num: num}
	if i < len(v.reports) && v.reports[i].num == num {
		g = *v.reports[i]
	} else {
		v.reports = slices.Insert(v.reports, i, nil)
	}
	for _, kind := range reportKinds {
		l := g.listing(kind)
		l.parts = slices.Clone(l.parts)
	}
	if err := f(&g); err != nil {
		return err
	}
	for _, kind := range reportKinds {
		l := g.listing(kind)
		l.trusted = v.trusted.only(l.parts)
	}
	v.reports[i] = &g
	return nil
}

// editCount is editReport for counting generations.
func (v *view) editCount(num int64, f func(g *countGeneration) error) error {
	i := slices.IndexFunc(v.counts, func(g *countGeneration) bool { return g.num <= num })
	if i < 0 {
		i = len(v.counts)
	}
	g := countGeneration{num: num}
	if i < len(v.counts) && v.counts[i].num == num {
		g = *v.counts[i]
	} else {
		v.counts = slices.Insert(v.counts, i, nil)
	}
	g.parts = slices.Clone(g.parts)
	if err := f(&g); err != nil {
		return err
	}
	g.countedParts = counted(v.trusted.only(g.parts))
	v.counts[i] = &g
	return nil
}

// counted leaves out each life whose counts the same site's next life holds.
func counted(parts []sitePart) []sitePart {
	lives := slices.Clone(parts)
	slices.SortFunc(lives, func(a, b sitePart) int {
		return cmp.Or(cmp.Compare(a.origin.site, b.origin.site), cmp.Compare(b.origin.epoch, a.origin.epoch))
	})
	var out []sitePart
	for i, p := range lives {
		carried := i > 0 && lives[i-1].origin.site == p.origin.site && carriesOver(lives[i-1].origin.epoch, p.origin.epoch)
		if !carried {
			out = append(out, p)
		}
	}
	return out
}

// slot is where a view has a *T: in a generation G, which find finds and edit copies.
type slot[G, T any] struct {
	find func(*view, int64) *G
	edit func(*view, int64, func(*G) error) error
	in   func(*G) **T
}

// findOrMake returns what a generation has in a slot, made where missing.
func findOrMake[G, T any](st *store, gen int64, s slot[G, T], build func() (*T, error)) (made *T, err error) {
	if g := s.find(st.view.Load(), gen); g != nil && *s.in(g) != nil {
		return *s.in(g), nil
	}
	err = st.change(func(v *view) error {
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

// inReports is a slot of a generation of reports.
func inReports[T any](in func(*reportGeneration) **T) slot[reportGeneration, T] {
	return slot[reportGeneration, T]{(*view).report, (*view).editReport, in}
}

// ownBits returns this site's filter of a generation, made where missing with
// the given shape.
func (st *store) ownBits(t target, s filter.BitsShape) (*filter.Bits, error) {
	in := func(g *reportGeneration) **filter.Bits { return &g.listing(t.kind).own }
	return findOrMake(st, t.gen, inReports(in), func() (*filter.Bits, error) { return filter.NewBits(s) })
}

// ownCounts is ownBits for the counting filter.
func (st *store) ownCounts(gen int64, s filter.CountsShape) (*filter.Counts, error) {
	in := func(g *countGeneration) **filter.Counts { return &g.own }
	at := slot[countGeneration, filter.Counts]{(*view).count, (*view).editCount, in}
	return findOrMake(st, gen, at, func() (*filter.Counts, error) { return filter.NewCounts(s) })
}

// shapeFor is the shape of a bit filter in a generation: that of what is there
// already, which may come from an earlier setting, else that of the options.
func (st *store) shapeFor(t target) filter.BitsShape {
	if g := st.view.Load().report(t.gen); g != nil {
		l := g.listing(t.kind)
		if l.own != nil {
			return l.own.Shape()
		}
		if l.others != nil {
			return l.others.Shape()
		}
		if t.kind == spamFilter && g.mask != nil {
			return g.mask.shape
		}
	}
	switch t.kind {
	case revokedFilter:
		return st.revokedShape
	case classFilter:
		return st.classShape
	case sketchFilter:
		return st.sketchShape
	}
	return st.spamShape
}

// keepAged is for how many seconds a generation that aged out is held, out of
// sight of Judge: a clock that is wrong for a moment must not destroy what is
// known.
const keepAged = 600

// current is the view without what has aged out.
func (st *store) current() view {
	v := *st.view.Load()
	now := st.opt.Now()
	oldest := func(k filterKind) int64 { return st.opt.generation(k, now) - int64(st.opt.keep(k)) + 1 }
	reports, counts := oldest(spamFilter), oldest(countFilter)
	for len(v.reports) > 0 && v.reports[len(v.reports)-1].num < reports {
		v.reports = v.reports[:len(v.reports)-1]
	}
	for len(v.counts) > 0 && v.counts[len(v.counts)-1].num < counts {
		v.counts = v.counts[:len(v.counts)-1]
	}
	return v
}

// expire drops the generations that aged out, when it has seen them at keepAged
// calls in turn; Run calls it each second.
func (st *store) expire() (dropped bool) {
	all, v := st.view.Load(), st.current()
	if len(all.reports) == len(v.reports) && len(all.counts) == len(v.counts) {
		st.agedTicks = 0
		return false
	}
	if st.agedTicks++; st.agedTicks < keepAged {
		return false
	}
	st.agedTicks = 0
	_ = st.change(func(v *view) error {
		v.reports = slices.DeleteFunc(v.reports, func(g *reportGeneration) bool { return st.opt.aged(target{spamFilter, g.num}) })
		v.counts = slices.DeleteFunc(v.counts, func(g *countGeneration) bool { return st.opt.aged(target{countFilter, g.num}) })
		return nil
	})
	return true
}

// allParts lists the other sites' parts of every filter.
func (v *view) allParts() iter.Seq2[target, []sitePart] {
	return func(yield func(target, []sitePart) bool) {
		for _, g := range v.reports {
			for _, kind := range reportKinds {
				if !yield(target{kind, g.num}, g.listing(kind).parts) {
					return
				}
			}
		}
		for _, g := range v.counts {
			if !yield(target{countFilter, g.num}, g.parts) {
				return
			}
		}
	}
}

func differs(there, here shape) error {
	return fmt.Errorf("%w: there %v, here %v", ErrParameters, there.bits(), here.bits())
}
