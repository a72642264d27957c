package explain

import (
	"slices"
	"strings"
	"time"

	"cmp"
	"github.com/spambloom/spambloom/bloomdb/judging"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

// SketchTrace contains the near-duplicates of one sketch of a message.
type SketchTrace struct {
	Kind    signature.Kind
	Groups  int           // number of groups looked up
	Spam    []SketchTrail // reported groups with a key of it, newest generation first
	Revoked []SketchTrail // revoked ones

	Number int // index of the sketch in its set
}

// SketchTrail is the best group of one site in one generation: the one with the most keys that are
// stored with its anchor.
type SketchTrail struct {
	Site       string
	Generation int64
	Start      time.Time           // start of the generation's period
	Anchor     signature.Signature // names the group, see Match
	Found      int                 // number of keys that are stored with the anchor, and not common here
	Common     int                 // number of other keys that were reported, but are common at this site: no evidence
	Need, Weak int                 // how many of them make a match, and a weak one
	Keys       int                 // number of keys looked up
	By         string              // of signature.KindShape: what joins the structure
}

// StandsWithout is that of a Trace, by the groups that match.
func (t SketchTrace) StandsWithout(site string) bool {
	return latestMatch(t.Spam, site) > latestMatch(t.Revoked, site)
}

// IsRevokedBeside is that of a Trace, by the groups that match.
func (t SketchTrace) IsRevokedBeside(site string) bool {
	revoked := latestMatch(t.Revoked, site)
	return revoked >= 0 && revoked >= latestMatch(t.Spam, "")
}

// latestMatch returns the number of the newest generation with a match of other sites than one; -1 if there is none.
func latestMatch(trails []SketchTrail, but string) int64 {
	n := int64(-1)
	for _, t := range trails {
		if t.Site != but && t.Found >= t.Need {
			n = max(n, t.Generation)
		}
	}
	return n
}

// Sketches returns the trace of every sketch of set. It omits an anchor without any of
// its keys: the filter reports such an anchor by error.
func Sketches(keys []*keyspace.Keyspace, set signature.Set) []SketchTrace {
	traces := sketchTraces(keys[0], set)
	for _, ks := range keys[1:] {
		traces = judging.Merged(traces, sketchTraces(ks, set), func(t, o SketchTrace) bool { return t.Number == o.Number },
			func(t *SketchTrace, o SketchTrace) {
				t.Groups = max(t.Groups, o.Groups)
				t.Spam, t.Revoked = mergedSketchTrails(t.Spam, o.Spam), mergedSketchTrails(t.Revoked, o.Revoked)
			})
	}
	return traces
}

// mergedSketchTrails merges trails, and keeps the larger overlap of each site and generation.
func mergedSketchTrails(a, b []SketchTrail) []SketchTrail {
	isSame := func(t, o SketchTrail) bool { return t.Site == o.Site && t.Generation == o.Generation }
	trails := judging.Merged(a, b, isSame, func(t *SketchTrail, o SketchTrail) {
		if o.Found > t.Found {
			*t = o
		}
	})
	slices.SortFunc(trails, func(t, o SketchTrail) int {
		return cmp.Or(cmp.Compare(o.Generation, t.Generation), strings.Compare(t.Site, o.Site))
	})
	return trails
}

// sketchTraces returns the trace of every sketch in one keyspace.
func sketchTraces(ks *keyspace.Keyspace, set signature.Set) []SketchTrace {
	v := ks.Store.Current()
	var traces []SketchTrace
	for _, s := range ks.Sketches.Asked(set.Sketches) {
		traces = append(traces, SketchTrace{
			Kind: s.Kind, Groups: len(s.Groups), Number: s.Number,
			Spam: sketchTrails(ks, &v, s, sketch.ReportedGroups), Revoked: sketchTrails(ks, &v, s, sketch.RevokedGroups),
		})
	}
	return traces
}

func sketchTrails(ks *keyspace.Keyspace, v *store.View, s sketch.KindGroups, l sketch.List) []SketchTrail {
	q := sketch.NewQuery(s, l)
	if l == sketch.ReportedGroups {
		q = q.Without(ks.Common)
	}
	common := func(group int) int { return len(s.Groups[group].Keys) - len(q.Groups[group].Keys) }
	var trails []SketchTrail
	for _, g := range v.Reports {
		best := make(map[string]sketch.Overlap)
		for _, o := range q.Overlaps(g, ks.Settings.Site, func(signature.Group) int { return 0 }, true) {
			b, ok := best[o.Site]
			if o.Found+common(o.Group) > 0 && (!ok || cmp.Or(cmp.Compare(o.Found, b.Found), cmp.Compare(common(o.Group), common(b.Group))) > 0) {
				best[o.Site] = o
			}
		}
		var list []SketchTrail
		for site, o := range best {
			group := q.Groups[o.Group]
			list = append(list, SketchTrail{
				Site: site, Generation: g.Num, Start: ks.Settings.Start(layout.Target{Kind: layout.SketchFilter, Gen: g.Num}),
				Anchor: ks.Sketches.AnchorSignature(q.Kind, group.Anchor), Found: o.Found, Common: common(o.Group),
				Need: sketch.Enough(group), Weak: sketch.Suffices(group), Keys: len(group.Keys), By: group.By,
			})
		}
		slices.SortFunc(list, func(a, b SketchTrail) int { return strings.Compare(a.Site, b.Site) })
		trails = append(trails, list...)
	}
	return trails
}
