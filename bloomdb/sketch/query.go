package sketch

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

// Query contains the groups of one sketch, and their entries in one list.
type Query struct {
	KindGroups
	seeds   []uint64      // seed of each group
	anchors []filter.Hash // first copy of each group's anchor
	common  *commonness.Table
	asked   map[uint64]bool // answers of common: the groups of a sketch share keys
	lookups int             // in parts of other sites
	all     bool            // lookups are not bounded
	isCopy  bool            // Groups are the query's own
	sender  string          // see From
	isAsked bool            // doubted is known
	doubted bool
}

// maxLookups bounds the lookups of one sketch in parts of other sites, of half a microsecond each.
// They are needed only for groups of which the sites together have enough keys. A member that stores
// too few keys of all groups of a message in each of its epochs would need a third of a million, so
// that each copy takes 0.2 s. Lookups in this site's own filter are not bounded.
const maxLookups = 1 << 14

// IsSpent reports whether groups were left out because of too many lookups.
func (q *Query) IsSpent() bool { return !q.all && q.lookups >= maxLookups }

// Without returns the query without what is common at this site. Only groups that would match are
// looked up there.
func (q Query) Without(common *commonness.Table) Query {
	q.common = common
	return q
}

func NewQuery(s KindGroups, l List) Query {
	q := Query{KindGroups: s, seeds: make([]uint64, len(s.Groups)), anchors: make([]filter.Hash, len(s.Groups))}
	for i, g := range s.Groups {
		q.seeds[i] = l.seed(g.Anchor)
		q.anchors[i] = q.anchor(i, 0)
	}
	return q
}

// isAnchored reports whether a filter of reports in a view may have a structure of a page. Most
// pages have none there. So their keys, which are many, are not made.
func (sk *Index) isAnchored(v *store.View, page signature.Sketch) bool {
	s, sip := KindGroups{Kind: page.Kind, Groups: make([]signature.Group, len(page.Anchors))}, sk.SipKeys[page.Kind]
	for i, a := range page.Anchors {
		s.Groups[i].Anchor = sip.Hash(a.Hash)
	}
	q := NewQuery(s, ReportedGroups)
	return slices.ContainsFunc(v.Reports, func(g *store.ReportGeneration) bool {
		return len(q.anchored(g.Sketches.Own, nil)) > 0 || len(q.anchored(g.Sketches.Others, nil)) > 0
	})
}

// anchor returns the position of a copy of a group's anchor.
func (q *Query) anchor(i, c int) filter.Hash { return keyring.Stretch(anchorSeed(q.seeds[i], c)) }

// anchored appends the numbers of the groups whose anchor is in a filter. It looks up all first
// copies together, so that their cache misses overlap. Most mail needs no other lookup.
func (q *Query) anchored(b *filter.Bits, dst []int) []int {
	if b == nil {
		return dst
	}
	for i, ok := range b.HasBatch(q.anchors, make([]bool, 0, 512)) {
		if ok && q.hasAnchor(i, b.Has) {
			dst = append(dst, i)
		}
	}
	return dst
}

// hasAnchor reports whether the other copies of an anchor are present, too.
func (q *Query) hasAnchor(i int, has func(filter.Hash) bool) bool {
	for c := 1; c < layout.AnchorCopies; c++ {
		if !has(q.anchor(i, c)) {
			return false
		}
	}
	return true
}

// keysIn returns which keys of a group a filter has. The caller has found the anchor in it.
func (q *Query) keysIn(b *filter.Bits, i int) []bool { return b.HasBatch(q.pairs(i), nil) }

// pairs returns the positions of a group's pairs.
func (q *Query) pairs(i int) []filter.Hash {
	keys := q.Groups[i].Keys
	hashes := make([]filter.Hash, min(len(keys), maxKeysPerGroup))
	for j := range hashes {
		hashes[j] = q.pair(i, keys[j])
	}
	return hashes
}

func (q *Query) pair(i int, key uint64) filter.Hash {
	return keyring.Stretch(pairSeed(q.seeds[i], key))
}

// candidate is a group whose anchor and some keys are in one filter: this site's own, or the
// joined one, where they may come from several sites.
type candidate struct{ group, found int }

// candidates returns the groups of which this site, or the others together, have at least as
// many keys as least returns. Largest first.
func (q *Query) candidates(g *store.ReportGeneration, least func(signature.Group) int) []candidate {
	var list []candidate
	for _, b := range []*filter.Bits{g.Sketches.Own, g.Sketches.Others} {
		for _, i := range q.anchored(b, nil) {
			found := q.keysIn(b, i)
			n := Count(found)
			if q.common != nil && n >= least(q.Groups[i]) {
				n -= q.dropCommon(i, found)
			}
			if n >= least(q.Groups[i]) {
				list = append(list, candidate{i, n})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.found, a.found) })
	var seen []int
	return slices.DeleteFunc(list, func(c candidate) bool {
		again := slices.Contains(seen, c.group)
		seen = append(seen, c.group)
		return again
	})
}

// dropCommon removes those of a group's found keys that are common at this site, or all if its anchor
// is, and returns how many of the found ones it has removed. Other keys need no look-up.
func (q *Query) dropCommon(i int, found []bool) int {
	if !q.common.IsLearning() {
		return 0
	}
	g := q.Groups[i]
	matched := signature.Group{Anchor: g.Anchor, By: g.By}
	for j, ok := range found {
		if ok {
			matched.Keys = append(matched.Keys, g.Keys[j])
		}
	}
	left := Uncommon(q.Kind, matched, q.isCommon)
	dropped := len(matched.Keys) - len(left)
	if dropped > 0 {
		if !q.isCopy { // the groups are the caller's
			q.Groups, q.isCopy = slices.Clone(q.Groups), true
		}
		q.Groups[i].Keys = slices.DeleteFunc(slices.Clone(g.Keys), func(k uint64) bool {
			return slices.Contains(matched.Keys, k) && !slices.Contains(left, k)
		})
	}
	return dropped
}

// isCommon asks for each feature once.
func (q *Query) isCommon(feature uint64) bool {
	is, ok := q.asked[feature]
	if !ok {
		if q.asked == nil {
			q.asked = make(map[uint64]bool)
		}
		is = q.common.IsCommon(feature)
		q.asked[feature] = is
	}
	return is
}

// Overlap is the number of keys of a group that one site has stored with its anchor.
type Overlap struct {
	Group int
	Site  string
	Found int
}

// Overlaps returns, for one generation, the overlaps of at least as many keys as least returns.
// Lookups in other sites' parts are slow, so unless all is set, it stops at the first group that
// matches at some site, or after too many of them. A least of 0 includes groups of which only the anchor is found, or common keys.
func (q *Query) Overlaps(g *store.ReportGeneration, self string, least func(signature.Group) int, all bool) []Overlap {
	q.all = all
	return q.overlaps(g, self, least, all)
}

func (q *Query) overlaps(g *store.ReportGeneration, self string, least func(signature.Group) int, all bool) (list []Overlap) {
	for _, c := range q.candidates(g, least) {
		matched := false
		for _, o := range q.bySite(g, c.group, self) {
			if o.Found >= least(q.Groups[c.group]) {
				list = append(list, o)
				matched = matched || q.isEnough(o)
			}
		}
		if matched && !all {
			break
		}
	}
	return list
}

// bySite returns the part of a group that each site has stored.
func (q *Query) bySite(g *store.ReportGeneration, i int, self string) []Overlap {
	l := &g.Sketches
	var list []Overlap
	if l.Own != nil && l.Own.Has(q.anchors[i]) && q.hasAnchor(i, l.Own.Has) {
		list = append(list, Overlap{i, self, Count(q.keysIn(l.Own, i))})
	}
	if l.Others == nil {
		return list
	}
	pairs := selected(q.pairs(i), q.keysIn(l.Others, i))
	for _, p := range l.Trusted {
		if q.IsSpent() {
			break
		}
		if n, ok := q.inPart(p, i, pairs); ok {
			list = append(list, Overlap{i, p.Origin.Site, n})
		}
	}
	return list
}

// inPart returns the number of a group's pairs that a part contains. It is not ok if the part does
// not contain the anchor.
func (q *Query) inPart(p store.SitePart, i int, pairs []filter.Hash) (n int, ok bool) {
	shape := p.Shape.Bits()
	has := func(h filter.Hash) bool {
		var buf [16]uint64
		q.lookups++
		return p.Part.Min(shape.Positions(h, buf[:0])) > 0
	}
	if !has(q.anchors[i]) || !q.hasAnchor(i, has) {
		return 0, false
	}
	for _, h := range pairs {
		if has(h) {
			n++
		}
	}
	return n, true
}

func Count(answers []bool) int {
	n := 0
	for _, ok := range answers {
		if ok {
			n++
		}
	}
	return n
}

// selected returns the keys whose answer is true.
func selected(keys []filter.Hash, answers []bool) []filter.Hash {
	kept := keys[:0]
	for i, ok := range answers {
		if ok {
			kept = append(kept, keys[i])
		}
	}
	return kept
}

// Enough returns the number of keys of a group that make a match; suffices returns the same for a weak
// match. A group that needs no key never matches, as its anchor alone would be a match.
func Enough(g signature.Group) int {
	if g.Need < 1 {
		return maxKeysPerGroup + 1
	}
	return g.Need
}

func Suffices(g signature.Group) int {
	if g.Weak < 1 {
		return Enough(g)
	}
	return min(g.Weak, Enough(g))
}

// Best returns the largest overlap that makes a match, else the largest.
func (q *Query) Best(list []Overlap) (best Overlap, strong bool) {
	for _, o := range list {
		isStrong := q.isEnough(o)
		if isStrong && !strong || isStrong == strong && o.Found > best.Found {
			best, strong = o, isStrong
		}
	}
	return best, strong
}

// AnchorSignature returns the signature that names a group: its kind, and in the digest's first 8
// bytes a hash of its anchor. The hash does not reveal the anchor, which is keyed.
func (sk *Index) AnchorSignature(kind signature.Kind, anchor uint64) signature.Signature {
	s := signature.Signature{Kind: kind}
	binary.BigEndian.PutUint64(s.Digest[:], sk.SipKeys[kind].Hash(anchor))
	return s
}
