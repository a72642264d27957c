package bloomdb

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// sketchQuery is one sketch's groups as one list has them.
type sketchQuery struct {
	kindGroups
	seeds   []uint64      // of each group
	anchors []filter.Hash // of each group, the first copy
}

func newSketchQuery(s kindGroups, l sketchList) sketchQuery {
	q := sketchQuery{s, make([]uint64, len(s.groups)), make([]filter.Hash, len(s.groups))}
	for i, g := range s.groups {
		q.seeds[i] = l.seed(g.Anchor)
		q.anchors[i] = stretch(anchorSeed(q.seeds[i], 0))
	}
	return q
}

// anchored appends the numbers of the groups whose anchor a filter has. All first
// copies are asked at once, so that their cache misses overlap: for most mail that
// is all there is to do.
func (q *sketchQuery) anchored(b *filter.Bits, dst []int) []int {
	if b == nil {
		return dst
	}
	for i, ok := range b.HasBatch(q.anchors, make([]bool, 0, 512)) {
		if ok && q.anchoredAt(i, b.Has) {
			dst = append(dst, i)
		}
	}
	return dst
}

// anchoredAt asks for the other copies of an anchor.
func (q *sketchQuery) anchoredAt(i int, has func(filter.Hash) bool) bool {
	for c := 1; c < anchorCopies; c++ {
		if !has(stretch(anchorSeed(q.seeds[i], c))) {
			return false
		}
	}
	return true
}

// pairs are the positions of a group's pairs.
func (q *sketchQuery) pairs(i int) []filter.Hash {
	keys := q.groups[i].Keys
	hashes := make([]filter.Hash, min(len(keys), maxKeysPerGroup))
	for j := range hashes {
		hashes[j] = stretch(pairSeed(q.seeds[i], keys[j]))
	}
	return hashes
}

// candidate is a group whose anchor and some of whose keys a filter has: this site's
// own, or that of all others, where it may be from several of them.
type candidate struct{ group, found int }

// candidates lists the groups of which this site or all others together have as many
// keys as least says: the largest first.
func (q *sketchQuery) candidates(g *reportGeneration, least func(signature.Group) int) []candidate {
	var list []candidate
	for _, b := range []*filter.Bits{g.sketches.own, g.sketches.others} {
		for _, i := range q.anchored(b, nil) {
			if n := count(b.HasBatch(q.pairs(i), nil)); n >= least(q.groups[i]) {
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

// overlap is how many keys of a group one site has stored with its anchor.
type overlap struct {
	group int
	site  string
	found int
}

// overlaps lists, for one generation, those of at least as many keys as least says.
// Unless all are wanted, the first group that matches at some site is the last one:
// other sites' parts are slow.
func (q *sketchQuery) overlaps(g *reportGeneration, self string, least func(signature.Group) int, all bool) []overlap {
	var list []overlap
	for _, c := range q.candidates(g, least) {
		matched := false
		for _, o := range q.bySite(g, c.group, self) {
			if o.found >= least(q.groups[c.group]) {
				list = append(list, o)
				matched = matched || o.found >= enough(q.groups[c.group])
			}
		}
		if matched && !all {
			break
		}
	}
	return list
}

// bySite says how much of a group each site has stored.
func (q *sketchQuery) bySite(g *reportGeneration, i int, self string) []overlap {
	l, pairs := &g.sketches, q.pairs(i)
	var list []overlap
	if l.own != nil && l.own.Has(q.anchors[i]) && q.anchoredAt(i, l.own.Has) {
		list = append(list, overlap{i, self, count(l.own.HasBatch(pairs, nil))})
	}
	if l.others == nil {
		return list
	}
	pairs = where(pairs, l.others.HasBatch(pairs, nil))
	for _, p := range l.trusted {
		if n := q.inPart(p, i, pairs); n > 0 {
			list = append(list, overlap{i, p.origin.site, n})
		}
	}
	return list
}

// inPart is how many of a group's pairs a part has, if it has the anchor.
func (q *sketchQuery) inPart(p sitePart, i int, pairs []filter.Hash) int {
	shape := p.shape.bits()
	has := func(h filter.Hash) bool {
		var buf [16]uint64
		return p.part.Min(shape.Positions(h, buf[:0])) > 0
	}
	if !has(q.anchors[i]) || !q.anchoredAt(i, has) {
		return 0
	}
	n := 0
	for _, h := range pairs {
		if has(h) {
			n++
		}
	}
	return n
}

func count(answers []bool) int {
	n := 0
	for _, ok := range answers {
		if ok {
			n++
		}
	}
	return n
}

// where keeps the keys whose answer is yes.
func where(keys []filter.Hash, answers []bool) []filter.Hash {
	kept := keys[:0]
	for i, ok := range answers {
		if ok {
			kept = append(kept, keys[i])
		}
	}
	return kept
}

// enough is how many keys of a group make a match, and suffices how many a weak one.
// A group that needs none at all would match by its anchor alone, and never does.
func enough(g signature.Group) int {
	if g.Need < 1 {
		return maxKeysPerGroup + 1
	}
	return g.Need
}

func suffices(g signature.Group) int {
	if g.Weak < 1 {
		return enough(g)
	}
	return min(g.Weak, enough(g))
}

// hasSketches says whether there is anything to ask for near-duplicates.
func (v *view) hasSketches() bool {
	return slices.ContainsFunc(v.reports, func(g *reportGeneration) bool {
		return g.sketches.own != nil || g.sketches.others != nil
	})
}

// best is the largest overlap that makes a match, else the largest.
func (q *sketchQuery) best(list []overlap) (best overlap, strong bool) {
	for _, o := range list {
		isStrong := o.found >= enough(q.groups[o.group])
		if isStrong && !strong || isStrong == strong && o.found > best.found {
			best, strong = o, isStrong
		}
	}
	return best, strong
}

// anchorSignature is how a group is named: by its kind and, in the digest's first 8
// bytes, a hash of its anchor that does not tell the anchor itself, which is keyed.
func (sk *sketches) anchorSignature(kind signature.Kind, anchor uint64) signature.Signature {
	s := signature.Signature{Kind: kind}
	binary.BigEndian.PutUint64(s.Digest[:], sk.sipKeys[kind].hash(anchor))
	return s
}
