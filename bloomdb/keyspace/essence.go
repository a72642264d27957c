package keyspace

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/signature"
)

// absent returns the number of keys that are not in a filter. A nil filter contains none.
func absent(b *filter.Bits, keys []filter.Hash) int {
	if b == nil {
		return len(keys)
	}
	return len(keys) - sketch.Count(b.HasBatch(keys, nil))
}

// leastKeys is the number of keys of a text's sketch that are its anchors.
const leastKeys = 20

// Anchors returns keyed hashes that reports of the same content have in common.
func (ks *Keyspace) Anchors(s signature.Sketch) []uint64 {
	sip, ok := ks.Sketches.SipKeys[s.Kind]
	switch {
	case !ok || s.AskOnly:
		return nil
	case s.Kind == signature.KindSketch:
		return s.LeastKeys(leastKeys, sip.Hash)
	}
	var anchors []uint64
	for _, g := range s.Reported(sip.Hash) {
		anchors = append(anchors, g.Anchor)
	}
	slices.Sort(anchors)
	return slices.Compact(anchors)
}

// AnchorsNeed returns how many of a sketch's n anchors other reports must have before they count as
// reports of the same content: all of an image's or a page's, and all but 4 of a text's.
func (ks *Keyspace) AnchorsNeed(kind signature.Kind, n int) int {
	if kind != signature.KindSketch {
		return n
	}
	return max(1, n-4)
}
