package bloomdb

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// SketchTrace says, for one sketch of a message, what is known of near-duplicates.
type SketchTrace struct {
	Kind    signature.Kind
	Groups  int           // that were asked for
	Spam    []SketchTrail // reported groups with a key of it, newest generation first
	Revoked []SketchTrail // revoked ones

	number int // of the sketch in its set
}

// SketchTrail is the best group of one site in one generation: the one of whose keys
// the most are stored there with its anchor.
type SketchTrail struct {
	Site       string
	Generation int64
	Start      time.Time           // begin of the generation's period
	Anchor     signature.Signature // names the group, see Match
	Found      int                 // keys that are stored with the anchor
	Need, Weak int                 // how many of them make a match, and a weak one
	Keys       int                 // that were asked for
}

// ExplainSketches traces every sketch of set. An anchor of which no key is found is
// left out: filters err.
func (db *DB) ExplainSketches(set signature.Set) []SketchTrace {
	traces := db.ks.explainSketches(set)
	for _, ks := range db.keys[1:] {
		traces = merged(traces, ks.explainSketches(set), func(t, o SketchTrace) bool { return t.number == o.number },
			func(t *SketchTrace, o SketchTrace) {
				t.Groups = max(t.Groups, o.Groups)
				t.Spam, t.Revoked = mergedSketchTrails(t.Spam, o.Spam), mergedSketchTrails(t.Revoked, o.Revoked)
			})
	}
	return traces
}

// mergedSketchTrails keeps the larger overlap of each site and generation.
func mergedSketchTrails(a, b []SketchTrail) []SketchTrail {
	isSame := func(t, o SketchTrail) bool { return t.Site == o.Site && t.Generation == o.Generation }
	trails := merged(a, b, isSame, func(t *SketchTrail, o SketchTrail) {
		if o.Found > t.Found {
			*t = o
		}
	})
	slices.SortFunc(trails, func(t, o SketchTrail) int {
		return cmp.Or(cmp.Compare(o.Generation, t.Generation), strings.Compare(t.Site, o.Site))
	})
	return trails
}

func (ks *keyspace) explainSketches(set signature.Set) []SketchTrace {
	v := ks.store.current()
	var traces []SketchTrace
	for _, s := range ks.sketches.asked(set.Sketches) {
		traces = append(traces, SketchTrace{
			Kind: s.kind, Groups: len(s.groups), number: s.number,
			Spam: ks.sketchTrails(&v, s, reportedGroups), Revoked: ks.sketchTrails(&v, s, revokedGroups),
		})
	}
	return traces
}

func (ks *keyspace) sketchTrails(v *view, s kindGroups, l sketchList) []SketchTrail {
	q := newSketchQuery(s, l)
	var trails []SketchTrail
	for _, g := range v.reports {
		best := make(map[string]overlap)
		for _, o := range q.overlaps(g, ks.opt.Site, func(signature.Group) int { return 1 }, true) {
			if o.found > best[o.site].found {
				best[o.site] = o
			}
		}
		var list []SketchTrail
		for site, o := range best {
			group := q.groups[o.group]
			list = append(list, SketchTrail{
				Site: site, Generation: g.num, Start: ks.opt.start(target{sketchFilter, g.num}),
				Anchor: ks.sketches.anchorSignature(q.kind, group.Anchor), Found: o.found,
				Need: enough(group), Weak: suffices(group), Keys: len(group.Keys),
			})
		}
		slices.SortFunc(list, func(a, b SketchTrail) int { return strings.Compare(a.Site, b.Site) })
		trails = append(trails, list...)
	}
	return trails
}
