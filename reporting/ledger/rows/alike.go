package rows

import (
	"cmp"
	"maps"
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

// Pieces returns, of opinions by key, those of reporters each of whom has said enough of a text only by several reports:
// of each reporter as few as are enough, the one with the most anchors first. Else a reporter of the halves of a message
// as messages of their own, and then of a copy, which says nothing new of its anchors, would be refuted by nobody.
func Pieces(set signature.Set, anchors []record.Anchors, words map[record.Key][]record.Opinion) (pieces []record.Opinion) {
	for i, a := range anchors {
		if set.Sketches[i].Kind != signature.KindSketch || a.Need == 0 {
			continue
		}
		times, said := map[uint64]int{}, map[uint32][]record.Opinion{}
		for _, h := range a.Hashes {
			for _, o := range words[record.AnchorKey(signature.KindSketch, h)] {
				if times[o.Report]++; times[o.Report] == 1 {
					said[o.Reporter] = append(said[o.Reporter], o)
				}
			}
		}
		for _, id := range slices.Sorted(maps.Keys(said)) {
			list := slices.SortedFunc(slices.Values(said[id]), func(a, b record.Opinion) int {
				return cmp.Or(cmp.Compare(times[b.Report], times[a.Report]), cmp.Compare(a.Report, b.Report))
			})
			if times[list[0].Report] >= a.Need { // see Alike
				continue
			}
			for n, sum := 0, 0; n < len(list); n++ {
				if sum += times[list[n].Report]; sum >= a.Need {
					pieces = append(pieces, list[:n+1]...)
					break
				}
			}
		}
	}
	return pieces
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
