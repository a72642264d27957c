package record

import "github.com/spambloom/spambloom/signature"

// Alike returns, of opinions by key, those of reports about a message: they share a signature with it, or as many anchors of a sketch as a near-duplicate has. One anchor in
// common means nothing: it may be three words that many messages contain. Each report is
// returned once, and its number is in seen.
func Alike(set signature.Set, anchors []Anchors, words map[Key][]Opinion) (list []Opinion, seen map[uint64]bool) {
	seen = map[uint64]bool{}
	add := func(o Opinion) {
		if !seen[o.Report] {
			seen[o.Report], list = true, append(list, o)
		}
	}
	for _, s := range set.Signatures {
		for _, o := range words[SignatureKey(s)] {
			add(o)
		}
	}
	for i, a := range anchors {
		common := map[uint64]int{}
		for _, h := range a.Hashes {
			for _, o := range words[AnchorKey(set.Sketches[i].Kind, h)] {
				if common[o.Report]++; common[o.Report] == a.Need {
					add(o)
				}
			}
		}
	}
	return list, seen
}
