package judging

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/signature"
)

// ExplainSketches returns the trace of every sketch of set. It omits an anchor without any of
// its keys: the filter reports such an anchor by error.
func ExplainSketches(keys []*keyspace.Keyspace, set signature.Set) []keyspace.SketchTrace {
	traces := keys[0].ExplainSketches(set)
	for _, ks := range keys[1:] {
		traces = merged(traces, ks.ExplainSketches(set), func(t, o keyspace.SketchTrace) bool { return t.Number == o.Number },
			func(t *keyspace.SketchTrace, o keyspace.SketchTrace) {
				t.Groups = max(t.Groups, o.Groups)
				t.Spam, t.Revoked = mergedSketchTrails(t.Spam, o.Spam), mergedSketchTrails(t.Revoked, o.Revoked)
			})
	}
	return traces
}

// mergedSketchTrails merges trails, and keeps the larger overlap of each site and generation.
func mergedSketchTrails(a, b []keyspace.SketchTrail) []keyspace.SketchTrail {
	isSame := func(t, o keyspace.SketchTrail) bool { return t.Site == o.Site && t.Generation == o.Generation }
	trails := merged(a, b, isSame, func(t *keyspace.SketchTrail, o keyspace.SketchTrail) {
		if o.Found > t.Found {
			*t = o
		}
	})
	slices.SortFunc(trails, func(t, o keyspace.SketchTrail) int {
		return cmp.Or(cmp.Compare(o.Generation, t.Generation), strings.Compare(t.Site, o.Site))
	})
	return trails
}

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
