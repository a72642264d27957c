package rows

import (
	"slices"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// Alike returns, of opinions by key, those of reports about a message: they share a
// signature with it, or as many anchors of a sketch as a near-duplicate has. One anchor in
// common means nothing: it may be three words that many messages contain. Each report is
// returned once, and its number is in seen.
func Alike(set signature.Set, anchors []record.Anchors, words map[record.Key][]record.Opinion) (list []record.Opinion, seen map[uint64]bool) {
	seen = map[uint64]bool{}
	add := func(o record.Opinion) {
		if !seen[o.Report] {
			seen[o.Report], list = true, append(list, o)
		}
	}
	for _, s := range set.Signatures {
		for _, o := range words[record.SignatureKey(s)] {
			add(o)
		}
	}
	for i, a := range anchors {
		common := map[uint64]int{}
		for _, h := range a.Hashes {
			for _, o := range words[record.AnchorKey(set.Sketches[i].Kind, h)] {
				if common[o.Report]++; common[o.Report] == a.Need {
					add(o)
				}
			}
		}
	}
	return list, seen
}

// Strongest returns the greatest sum of a message: of a signature, or that which enough anchors of a sketch
// reach. Keys of which sum is not ok are left out.
func Strongest(set signature.Set, anchors []record.Anchors, sum func(record.Key) (w record.Weight, ok bool)) (most record.Weight) {
	for _, s := range set.Signatures {
		if w, ok := sum(record.SignatureKey(s)); ok {
			most = max(most, w)
		}
	}
	for i, a := range anchors {
		var sums []record.Weight
		for _, h := range a.Hashes {
			if w, ok := sum(record.AnchorKey(set.Sketches[i].Kind, h)); ok {
				sums = append(sums, w)
			}
		}
		if a.Need > 0 && len(sums) >= a.Need {
			slices.Sort(sums)
			most = max(most, sums[len(sums)-a.Need])
		}
	}
	return most
}
