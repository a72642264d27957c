package explain

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
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

// traces returns the trace of every signature in one keyspace.
func traces(ks *keyspace.Keyspace, set signature.Set) []Trace {
	v := ks.Store.Current()
	var list []Trace
	voted := vote.Keys(set.Signatures)
	for i, s := range set.Signatures {
		t := Trace{Signature: s}
		h := ks.Ring.ReportHash(s)
		for _, g := range v.Reports {
			t.Spam = append(t.Spam, trailsOf(ks, layout.SpamFilter, g, h)...)
			t.Revoked = append(t.Revoked, trailsOf(ks, layout.RevokedFilter, g, h)...)
			if g.Spam.Has(h) && g.Revoked.Has(h) {
				t.Contested = append(t.Contested, Contest{g.Num, ks.Settings.Start(layout.Target{Kind: layout.SpamFilter, Gen: g.Num}), g.Top(h)})
			}
		}
		if slices.Contains(voted, i) {
			t.Votes = ks.Votes.Trails(&v, h)
		}
		if slices.Contains(set.Counting, s) {
			t.Counts = countTrails(ks, &v, ks.Ring.CountHash(s))
		}
		list = append(list, t)
	}
	return list
}

func trailsOf(ks *keyspace.Keyspace, kind layout.Kind, g *store.ReportGeneration, h filter.Hash) []Trail {
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
		t := trail(ks, layout.Target{Kind: kind, Gen: g.Num}, site, 0)
		t.Classes = classes[site]
		t.Retouched = kind == layout.SpamFilter && g.Mask.Hides(h)
		trails = append(trails, t)
	}
	return trails
}

func countTrails(ks *keyspace.Keyspace, v *store.View, h filter.Hash) []Trail {
	var trails []Trail
	for _, g := range v.Counts {
		t := layout.Target{Kind: layout.CountFilter, Gen: g.Num}
		if c := g.OwnCount(h); c > 0 {
			trails = append(trails, trail(ks, t, ks.Settings.Site, c))
		}
		for _, p := range g.CountedParts {
			if c := p.Count(h); c > 0 {
				trails = append(trails, trail(ks, t, p.Origin.Site, c))
			}
		}
	}
	return trails
}

func trail(ks *keyspace.Keyspace, t layout.Target, site string, count uint32) Trail {
	return Trail{Site: site, Generation: t.Gen, Start: ks.Settings.Start(t), Count: uint64(count)}
}

// Stands reports whether the newest word about the signature is a report.
func (t Trace) Stands() bool {
	reported, revoked := latest(t.Spam), latest(t.Revoked)
	if reported != revoked {
		return reported > revoked
	}
	return slices.ContainsFunc(t.Contested, func(c Contest) bool {
		return c.Generation == reported && !layout.IsRevocation(c.Rung)
	})
}

// StandsWithout reports whether other sites than one list the signature: the newest generation with their reports is
// newer than any with their revocations.
func (t Trace) StandsWithout(site string) bool {
	return latest(without(t.Spam, site)) > latest(without(t.Revoked, site))
}

// IsRevokedBeside reports whether another site than one has revoked the signature in the newest generation, also if
// somebody has listed it since.
func (t Trace) IsRevokedBeside(site string) bool {
	revoked := latest(without(t.Revoked, site))
	return revoked >= 0 && revoked >= latest(t.Spam)
}

func without(trails []Trail, site string) []Trail {
	return slices.DeleteFunc(slices.Clone(trails), func(t Trail) bool { return t.Site == site })
}

// latest returns the number of the newest generation; -1 if there is none.
func latest(trails []Trail) int64 {
	n := int64(-1)
	for _, t := range trails {
		n = max(n, t.Generation)
	}
	return n
}
