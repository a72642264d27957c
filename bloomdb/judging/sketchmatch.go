package judging

import (
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
