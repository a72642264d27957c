package bloomdb

import (
	"cmp"
	"encoding/binary"
	"math"
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

// sketchFinding is what is known of one sketch of a message.
type sketchFinding struct {
	number int // of the sketch in its set
	match  Match
	strong bool // it is a match; else a weak one
}

// addSketches asks for the near-duplicates of a message. A listing by an exact
// signature is not taken back by a revoked near-duplicate, and one by a sketch is by
// a revocation of the message itself.
func (k *knowledge) addSketches(e *Evidence, exact []signature.Signature) {
	if slices.ContainsFunc(k.asked, func(s kindGroups) bool { return len(s.groups) >= signature.MaxAsked }) {
		e.Limits |= signature.LimitGroups
	}
	findings := k.judgeSketches(exact, k.twin)
	if k.twin != nil {
		findings = unitedFindings(findings, k.twin.judgeSketches(exact, k))
	}
	for _, f := range findings {
		if f.strong {
			e.Matches = append(e.Matches, f.match)
			e.Listed = e.Listed || !f.match.Revoked
		} else {
			e.Weak = append(e.Weak, f.match)
		}
	}
}

// judgeSketches asks one database. What the other key's takes back counts, too.
func (k *knowledge) judgeSketches(exact []signature.Signature, other *knowledge) []sketchFinding {
	var findings []sketchFinding
	for _, s := range k.asked {
		if m, strong, ok := k.judgeSketch(s, exact, other); ok {
			findings = append(findings, sketchFinding{s.number, m, strong})
		}
	}
	return findings
}

// hasSketches says whether there is anything to ask for near-duplicates.
func (v *view) hasSketches() bool {
	return slices.ContainsFunc(v.reports, func(g *reportGeneration) bool {
		return g.sketches.own != nil || g.sketches.others != nil
	})
}

// judgeSketch looks for the newest generation in which one site has stored enough of
// one group. A revocation in that one or a newer one takes it back, and a generation in
// which the message itself was retouched does not count. Where no match
// stands, it is the newest weak one that does, or else the match that was revoked.
func (k *knowledge) judgeSketch(s kindGroups, exact []signature.Signature, other *knowledge) (m Match, strong, ok bool) {
	q := newSketchQuery(s, reportedGroups)
	var weak, revoked *Match
	var message []filter.Hash
	from, known := int64(0), false // the newest generation with a revocation
	for _, g := range k.view.reports {
		list := q.overlaps(g, k.db.opt.Site, suffices, false)
		if len(list) == 0 {
			continue
		}
		if !known {
			message, known = k.db.messageHashes(exact), true
			from = max(k.revokedFrom(s, message), other.revokedSketchFrom(s.number, exact))
		}
		if g.mask != nil && slices.ContainsFunc(message, g.mask.retouched) || other.retouchedMessage(exact, g.num) {
			continue
		}
		best, isStrong := q.best(list)
		m := k.db.sketchMatch(&q, list, best, g.num)
		switch {
		case isStrong && g.num > from:
			return m, true, true
		case isStrong && revoked == nil:
			m.Revoked = true
			revoked = &m
		case !isStrong && g.num > from && weak == nil:
			weak = &m
		}
	}
	switch {
	case weak != nil:
		return *weak, false, true
	case revoked != nil:
		return *revoked, true, true
	}
	return m, false, false
}

// neverRevoked is older than every generation.
const neverRevoked = math.MinInt64

// revokedFrom is the newest generation with a revocation of the message or of a
// near-duplicate of it: of one site's, enough of one of the message's groups,
// whichever it is. The groups of a revoked message need not be those by which it was
// listed, which are of another one.
func (k *knowledge) revokedFrom(s kindGroups, message []filter.Hash) int64 {
	q := newSketchQuery(s, revokedGroups)
	for _, g := range k.view.reports {
		if slices.ContainsFunc(message, g.revoked.has) || len(q.overlaps(g, k.db.opt.Site, enough, false)) > 0 {
			return g.num
		}
	}
	return neverRevoked
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

// sketchMatch is the match by one overlap, with the sites whose reports make it, too.
func (db *DB) sketchMatch(q *sketchQuery, list []overlap, best overlap, gen int64) Match {
	g := q.groups[best.group]
	m := Match{Signature: db.anchorSignature(q.kind, g.Anchor), Generation: gen, Found: best.found, Need: enough(g), Keys: len(g.Keys)}
	for _, o := range list {
		if o.group == best.group && o.found >= min(best.found, m.Need) {
			m.Sites = append(m.Sites, o.site)
		}
	}
	slices.Sort(m.Sites)
	m.Sites = slices.Compact(m.Sites)
	return m
}

// anchorSignature is how a group is named: by its kind and, in the digest's first 8
// bytes, a hash of its anchor that does not tell the anchor itself, which is keyed.
func (db *DB) anchorSignature(kind signature.Kind, anchor uint64) signature.Signature {
	s := signature.Signature{Kind: kind}
	binary.BigEndian.PutUint64(s.Digest[:], db.sipKeys[kind].hash(anchor))
	return s
}
