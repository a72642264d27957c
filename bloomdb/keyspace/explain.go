package keyspace

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/recent"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/signature"
)

// Trace contains all reports, revocations, counts and votes of one signature.
type Trace struct {
	Signature signature.Signature
	Spam      []Trail       // generations and sites that reported it, newest first
	Revoked   []Trail       // generations and sites that revoked it
	Contested []Contest     // generations in which it was reported and revoked, newest first
	Counts    []Trail       // how often each site counted it; only for counting keys
	Votes     []vote.Trail  // sites that vote by it; only for a message's text and body
	Burst     *recent.Burst // this site's count of the last minutes; nil for other keys, and if CountOptions.Burst is 0
}

// Trail is one site's part of a Trace in one generation.
type Trail struct {
	Site       string
	Generation int64
	Start      time.Time      // start of the generation's period
	Classes    []layout.Class // for Spam: classes of the site's reports, gravest first
	Retouched  bool           // for Spam: a masked bit hides it from Judge
	Count      uint64         // for Counts
}

// Contest is a generation in which a signature was reported and revoked.
type Contest struct {
	Generation int64
	Start      time.Time // start of the generation's period
	Rung       int       // the newest word, see layout.Rungs: 1 and more; an odd one is a revocation
}

// Explain returns the trace of every signature in one keyspace.
func (ks *Keyspace) Explain(set signature.Set) []Trace {
	v := ks.Store.Current()
	var traces []Trace
	voted := vote.Keys(set.Signatures)
	for i, s := range set.Signatures {
		t := Trace{Signature: s}
		h := ks.Ring.ReportHash(s)
		for _, g := range v.Reports {
			t.Spam = append(t.Spam, ks.trails(layout.SpamFilter, g, h)...)
			t.Revoked = append(t.Revoked, ks.trails(layout.RevokedFilter, g, h)...)
			if g.Spam.Has(h) && g.Revoked.Has(h) {
				t.Contested = append(t.Contested, Contest{g.Num, ks.Settings.Start(layout.Target{Kind: layout.SpamFilter, Gen: g.Num}), g.Top(h)})
			}
		}
		if slices.Contains(voted, i) {
			t.Votes = ks.Votes.Trails(&v, h)
		}
		if slices.Contains(set.Counting, s) {
			t.Counts = ks.countTrails(&v, ks.Ring.CountHash(s))
		}
		traces = append(traces, t)
	}
	return traces
}

func (ks *Keyspace) trails(kind layout.Kind, g *store.ReportGeneration, h filter.Hash) []Trail {
	var trails []Trail
	l := g.Listing(kind)
	if !l.Has(h) {
		return nil
	}
	var classes map[string][]layout.Class
	if kind == layout.SpamFilter && ks.Settings.Reports.Classes {
		classes = ks.Store.ClassesBySite(g, h)
	}
	for _, site := range l.Sites(h, ks.Settings.Site) {
		t := ks.trail(layout.Target{Kind: kind, Gen: g.Num}, site, 0)
		t.Classes = classes[site]
		t.Retouched = kind == layout.SpamFilter && g.Mask.Hides(h)
		trails = append(trails, t)
	}
	return trails
}

func (ks *Keyspace) countTrails(v *store.View, h filter.Hash) []Trail {
	var trails []Trail
	for _, g := range v.Counts {
		t := layout.Target{Kind: layout.CountFilter, Gen: g.Num}
		if c := g.OwnCount(h); c > 0 {
			trails = append(trails, ks.trail(t, ks.Settings.Site, c))
		}
		for _, p := range g.CountedParts {
			if c := p.Count(h); c > 0 {
				trails = append(trails, ks.trail(t, p.Origin.Site, c))
			}
		}
	}
	return trails
}

func (ks *Keyspace) trail(t layout.Target, site string, count uint32) Trail {
	return Trail{Site: site, Generation: t.Gen, Start: ks.Settings.Start(t), Count: uint64(count)}
}
