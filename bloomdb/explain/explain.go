// Package explain returns what the filters contain about a message, for people to read: the
// traces of its signatures and sketches, by site and generation, in one keyspace or two.
//
// It decides nothing: package judging does. It has no state, takes only read locks, and does no
// I/O.
package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/judging"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/signature"
)

// Signatures returns the trace of every signature of set, newest generation first, without Burst.
func Signatures(keys []*keyspace.Keyspace, set signature.Set) []Trace {
	list := traces(keys[0], set)
	for _, ks := range keys[1:] {
		for i, t := range traces(ks, set) {
			list[i] = uniteTraces(list[i], t)
		}
	}
	return list
}

// uniteTraces returns the trace of both keyspaces. If both have a count of one site and
// generation, the larger one is used: during a key change a site counts every message under
// both keys.
func uniteTraces(t, o Trace) Trace {
	t.Spam = sortedTrails(judging.Merged(t.Spam, o.Spam, isSameTrail, joinTrail))
	t.Revoked = sortedTrails(judging.Merged(t.Revoked, o.Revoked, isSameTrail, joinTrail))
	t.Contested = judging.Merged(t.Contested, o.Contested, func(c, o Contest) bool { return c.Generation == o.Generation },
		func(c *Contest, o Contest) { c.Rung = max(c.Rung, o.Rung) })
	slices.SortFunc(t.Contested, func(c, o Contest) int { return cmp.Compare(o.Generation, c.Generation) })
	t.Counts = sortedTrails(judging.Merged(summed(t.Counts), summed(o.Counts), isSameTrail, func(t *Trail, o Trail) { t.Count = max(t.Count, o.Count) }))
	t.Votes = judging.Merged(t.Votes, o.Votes, func(v, o vote.Trail) bool { return v.Site == o.Site }, func(v *vote.Trail, o vote.Trail) {
		if o.Made.After(v.Made) {
			*v = o
		}
	})
	slices.SortFunc(t.Votes, func(v, o vote.Trail) int { return strings.Compare(v.Site, o.Site) })
	return t
}

// isSameTrail reports whether two trails have the same site and generation.
func isSameTrail(t, o Trail) bool { return t.Site == o.Site && t.Generation == o.Generation }

// joinTrail adds another trail of the same report.
func joinTrail(t *Trail, o Trail) {
	t.Retouched = t.Retouched || o.Retouched
	t.Classes = slices.Concat(t.Classes, o.Classes)
	slices.Sort(t.Classes)
	t.Classes = slices.Compact(t.Classes)
}

// summed adds up the counts of each site's epochs in each generation.
func summed(trails []Trail) []Trail {
	return judging.Merged(nil, trails, isSameTrail, func(t *Trail, o Trail) { t.Count += o.Count })
}

// sortedTrails sorts trails by generation, newest first, then by site.
func sortedTrails(trails []Trail) []Trail {
	slices.SortFunc(trails, func(a, b Trail) int {
		return cmp.Or(cmp.Compare(b.Generation, a.Generation), strings.Compare(a.Site, b.Site))
	})
	return trails
}
