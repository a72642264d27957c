package sketch

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/store"
)

// A revocation takes back the near matches of a message that resembles the revoked one. A spam that
// has the words of a revoked newsletter beside its own resembles both. Its match with a reported spam
// is apart from the revocation if it comes from other words.
//
// Both are bottom-k sketches (Cohen and Kaplan, 2007): of the keys of the match, those that are no
// greater than the greatest key of the revoked text would be among its keys if their words were its
// words. If there are too few to tell, the match is not apart, and the message not listed.
const (
	fewestCompared = 4 // keys
	ofApart        = 8 // less than one in so many is in common
	mostCompared   = 32
)

// RevokedKeys returns the keys of each group of a text that was revoked in a generation, as far as the
// message has them. Its lookups are among those of q.
func (q *Query) RevokedKeys(g *store.ReportGeneration, s KindGroups, self string) (revoked [][]uint64) {
	r := NewQuery(s, RevokedGroups)
	r.lookups = q.lookups
	for _, o := range r.overlaps(g, self, Enough, true) {
		revoked = append(revoked, r.Found(g, o.Group))
	}
	q.lookups = r.lookups
	return revoked
}

// Apart returns the overlaps of a text in a generation that make a match, and are apart from all that
// was revoked. An empty list among revoked is one that cannot be compared. If lookups were left out,
// none is apart.
func (q *Query) Apart(g *store.ReportGeneration, self string, revoked [][]uint64) []Overlap {
	list := q.overlaps(g, self, Enough, true)
	if q.IsSpent() || max(len(list), len(revoked)) > mostCompared {
		return nil
	}
	return slices.DeleteFunc(list, func(o Overlap) bool { return !q.isEnough(o) || !isApart(q.Found(g, o.Group), revoked) })
}

// Found returns the keys of a group that were stored with its anchor.
func (q *Query) Found(g *store.ReportGeneration, i int) (keys []uint64) {
	own, others := g.Sketches.Own, g.Sketches.Others
	for _, k := range q.Groups[i].Keys[:min(len(q.Groups[i].Keys), maxKeysPerGroup)] {
		pair := q.pair(i, k)
		if own != nil && own.Has(pair) || others != nil && others.Has(pair) {
			keys = append(keys, k)
		}
	}
	return keys
}

// AreOthers reports whether words are others than those of a text, if so many of their keys can be
// compared with its keys, and so many are in common.
func AreOthers(compared, common int) bool {
	return compared >= fewestCompared && ofApart*common < compared
}

func isApart(keys []uint64, revoked [][]uint64) bool {
	for _, of := range revoked {
		if len(of) == 0 {
			return false
		}
		compared, common, greatest := 0, 0, slices.Max(of)
		for _, k := range keys {
			if k <= greatest {
				compared++
			}
			if slices.Contains(of, k) {
				common++
			}
		}
		if !AreOthers(compared, common) {
			return false
		}
	}
	return len(revoked) > 0
}
