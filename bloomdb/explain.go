package bloomdb

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// Trace contains, for one signature, all reports, revocations, counts and votes.
type Trace struct {
	Signature signature.Signature
	Spam      []Trail     // generations and sites that reported it, newest first
	Revoked   []Trail     // that took it back
	Counts    []Trail     // how often each site counted it; only for counting keys
	Votes     []VoteTrail // sites that vote by it; only for a message's text and body
	Burst     *Burst      // how often this site did in the last minutes; nil for other keys, and where CountOptions.Burst is 0
}

// Trail is one site's part of a Trace in one generation.
type Trail struct {
	Site       string
	Generation int64
	Start      time.Time // begin of the generation's period
	Classes    []Class   // for Spam: as which the site reported it, the gravest first
	Retouched  bool      // for Spam: a masked bit hides it from Judge
	Count      uint64    // for Counts
}

// Explain traces every signature of set, newest generation first.
func (db *DB) Explain(set signature.Set) []Trace {
	traces := db.ks.explain(set)
	for _, ks := range db.keys[1:] {
		for i, t := range ks.explain(set) {
			traces[i] = uniteTraces(traces[i], t)
		}
	}
	if db.burst == nil {
		return traces
	}
	now := db.ks.opt.Now()
	for i, t := range traces {
		if slices.Contains(set.Counting, t.Signature) {
			burst := db.burst.ask(db.ks.ring.countHash(t.Signature), now)
			traces[i].Burst = &burst
		}
	}
	return traces
}

// explain traces every signature in one keyspace.
func (ks *keyspace) explain(set signature.Set) []Trace {
	v := ks.store.current()
	var traces []Trace
	voted := voteKeys(set.Signatures)
	for i, s := range set.Signatures {
		t := Trace{Signature: s}
		h := ks.ring.reportHash(s)
		for _, g := range v.reports {
			t.Spam = append(t.Spam, ks.trails(spamFilter, g, h)...)
			t.Revoked = append(t.Revoked, ks.trails(revokedFilter, g, h)...)
		}
		if slices.Contains(voted, i) {
			t.Votes = ks.votes.voteTrails(&v, h)
		}
		if slices.Contains(set.Counting, s) {
			t.Counts = ks.countTrails(&v, ks.ring.countHash(s))
		}
		traces = append(traces, t)
	}
	return traces
}

func (ks *keyspace) trails(kind filterKind, g *reportGeneration, h filter.Hash) []Trail {
	var trails []Trail
	l := g.listing(kind)
	if !l.has(h) {
		return nil
	}
	var classes map[string][]Class
	if kind == spamFilter && ks.opt.Reports.Classes {
		classes = ks.store.classesBySite(g, h)
	}
	for _, site := range l.sites(h, ks.opt.Site) {
		t := ks.trail(target{kind, g.num}, site, 0)
		t.Classes = classes[site]
		t.Retouched = kind == spamFilter && g.mask.hides(h)
		trails = append(trails, t)
	}
	return trails
}

func (ks *keyspace) countTrails(v *view, h filter.Hash) []Trail {
	var trails []Trail
	for _, g := range v.counts {
		t := target{countFilter, g.num}
		if c := g.ownCount(h); c > 0 {
			trails = append(trails, ks.trail(t, ks.opt.Site, c))
		}
		for _, p := range g.countedParts {
			if c := p.count(h); c > 0 {
				trails = append(trails, ks.trail(t, p.origin.site, c))
			}
		}
	}
	return trails
}

func (ks *keyspace) trail(t target, site string, count uint32) Trail {
	return Trail{Site: site, Generation: t.gen, Start: ks.opt.start(t), Count: uint64(count)}
}

// uniteTraces returns the trace of both keyspaces. Of several counts of one site and generation
// the larger one holds: during a roll-over a site counts every message under both keys.
func uniteTraces(t, o Trace) Trace {
	t.Spam = sortedTrails(merged(t.Spam, o.Spam, isSameTrail, joinTrail))
	t.Revoked = sortedTrails(merged(t.Revoked, o.Revoked, isSameTrail, joinTrail))
	t.Counts = sortedTrails(merged(summed(t.Counts), summed(o.Counts), isSameTrail, func(t *Trail, o Trail) { t.Count = max(t.Count, o.Count) }))
	t.Votes = merged(t.Votes, o.Votes, func(v, o VoteTrail) bool { return v.Site == o.Site }, func(v *VoteTrail, o VoteTrail) {
		if o.Made.After(v.Made) {
			*v = o
		}
	})
	slices.SortFunc(t.Votes, func(v, o VoteTrail) int { return strings.Compare(v.Site, o.Site) })
	return t
}

// isSameTrail reports whether two trails are of one site and generation.
func isSameTrail(t, o Trail) bool { return t.Site == o.Site && t.Generation == o.Generation }

// joinTrail adds what another trail of the same report has.
func joinTrail(t *Trail, o Trail) {
	t.Retouched = t.Retouched || o.Retouched
	t.Classes = slices.Concat(t.Classes, o.Classes)
	slices.Sort(t.Classes)
	t.Classes = slices.Compact(t.Classes)
}

// summed adds up the counts of one site's lives in each generation.
func summed(trails []Trail) []Trail {
	return merged(nil, trails, isSameTrail, func(t *Trail, o Trail) { t.Count += o.Count })
}

// sortedTrails sorts them: the newest generation first, then by site.
func sortedTrails(trails []Trail) []Trail {
	slices.SortFunc(trails, func(a, b Trail) int {
		return cmp.Or(cmp.Compare(b.Generation, a.Generation), strings.Compare(a.Site, b.Site))
	})
	return trails
}

// merged returns the elements of a and then those of b, each once: one that is the same as
// an earlier one is joined to it. It changes neither a nor b.
func merged[T any](a, b []T, isSame func(T, T) bool, join func(*T, T)) []T {
	list := slices.Clone(a)
	for _, o := range b {
		i := slices.IndexFunc(list, func(t T) bool { return isSame(t, o) })
		if i < 0 {
			list = append(list, o)
		} else {
			join(&list[i], o)
		}
	}
	return list
}

// mergedNames returns all names of two lists in order, each once.
func mergedNames(a, b []string) []string {
	names := slices.Concat(a, b)
	slices.Sort(names)
	return slices.Compact(names)
}
