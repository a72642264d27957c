package judging

import (
	"cmp"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/sketch"
)

// sketchMatchOf returns the match by the best overlap, with all sites that have as good a one.
func sketchMatchOf(ks *keyspace.Keyspace, q *sketch.Query, list []sketch.Overlap, best sketch.Overlap, gen int64) Match {
	g := q.Groups[best.Group]
	m := Match{Signature: ks.Sketches.AnchorSignature(q.Kind, g.Anchor), Generation: gen, Found: best.Found, Need: sketch.Enough(g), Keys: len(g.Keys), By: g.By}
	for _, o := range list {
		if o.Group == best.Group && o.Found >= min(best.Found, m.Need) {
			m.Sites = append(m.Sites, o.Site)
		}
	}
	slices.Sort(m.Sites)
	m.Sites = slices.Compact(m.Sites)
	return m
}

// unite merges the facts. If both have a match of one generation and strength, that of s is kept. It is apart from
// revocations if it is in both keyspaces, or if the other one has none.
func (s sketchFacts) unite(o sketchFacts) sketchFacts {
	ours, theirs := slices.Clone(s.matches), o.matches
	s.matches = Merged(s.matches, o.matches,
		func(m, o sketchMatch) bool { return m.Generation == o.Generation && m.isStrong == o.isStrong },
		func(m *sketchMatch, o sketchMatch) { m.Sites = mergedNames(m.Sites, o.Sites) })
	for i := range s.matches {
		gen := s.matches[i].Generation
		s.matches[i].isApart = isApart(ours, s.words, gen) && isApart(theirs, o.words, gen)
	}
	slices.SortStableFunc(s.matches, func(m, o sketchMatch) int { return cmp.Compare(o.Generation, m.Generation) })
	s.words = s.words.unite(o.words)
	return s
}

// isApart reports whether the revocations of one keyspace do not take back its match of a generation.
func isApart(matches []sketchMatch, revocations words, gen int64) bool {
	return revocations.revoked() < gen || slices.ContainsFunc(matches, func(m sketchMatch) bool { return m.isApart && m.Generation == gen })
}
