package judging

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/signature"
)

// Explain returns the trace of every signature of set, newest generation first, without Burst.
func Explain(keys []*keyspace.Keyspace, set signature.Set) []keyspace.Trace {
	traces := keys[0].Explain(set)
	for _, ks := range keys[1:] {
		for i, t := range ks.Explain(set) {
			traces[i] = uniteTraces(traces[i], t)
		}
	}
	return traces
}

// uniteTraces returns the trace of both keyspaces. If both have a count of one site and
// generation, the larger one is used: during a key change a site counts every message under
// both keys.
func uniteTraces(t, o keyspace.Trace) keyspace.Trace {
	t.Spam = sortedTrails(merged(t.Spam, o.Spam, isSameTrail, joinTrail))
	t.Revoked = sortedTrails(merged(t.Revoked, o.Revoked, isSameTrail, joinTrail))
	t.Contested = merged(t.Contested, o.Contested, func(c, o keyspace.Contest) bool { return c.Generation == o.Generation },
		func(c *keyspace.Contest, o keyspace.Contest) { c.Rung = max(c.Rung, o.Rung) })
	slices.SortFunc(t.Contested, func(c, o keyspace.Contest) int { return cmp.Compare(o.Generation, c.Generation) })
	t.Counts = sortedTrails(merged(summed(t.Counts), summed(o.Counts), isSameTrail, func(t *keyspace.Trail, o keyspace.Trail) { t.Count = max(t.Count, o.Count) }))
	t.Votes = merged(t.Votes, o.Votes, func(v, o vote.Trail) bool { return v.Site == o.Site }, func(v *vote.Trail, o vote.Trail) {
		if o.Made.After(v.Made) {
			*v = o
		}
	})
	slices.SortFunc(t.Votes, func(v, o vote.Trail) int { return strings.Compare(v.Site, o.Site) })
	return t
}

// isSameTrail reports whether two trails have the same site and generation.
func isSameTrail(t, o keyspace.Trail) bool { return t.Site == o.Site && t.Generation == o.Generation }

// joinTrail adds another trail of the same report.
func joinTrail(t *keyspace.Trail, o keyspace.Trail) {
	t.Retouched = t.Retouched || o.Retouched
	t.Classes = slices.Concat(t.Classes, o.Classes)
	slices.Sort(t.Classes)
	t.Classes = slices.Compact(t.Classes)
}

// summed adds up the counts of each site's epochs in each generation.
func summed(trails []keyspace.Trail) []keyspace.Trail {
	return merged(nil, trails, isSameTrail, func(t *keyspace.Trail, o keyspace.Trail) { t.Count += o.Count })
}

// sortedTrails sorts trails by generation, newest first, then by site.
func sortedTrails(trails []keyspace.Trail) []keyspace.Trail {
	slices.SortFunc(trails, func(a, b keyspace.Trail) int {
		return cmp.Or(cmp.Compare(b.Generation, a.Generation), strings.Compare(a.Site, b.Site))
	})
	return trails
}

// merged returns the elements of a and then those of b, without duplicates: a duplicate is
// joined to the first such element. It changes neither a nor b.
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

// mergedNames returns the names of two lists, sorted and without duplicates.
func mergedNames(a, b []string) []string {
	names := slices.Concat(a, b)
	slices.Sort(names)
	return slices.Compact(names)
}
