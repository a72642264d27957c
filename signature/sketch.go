package signature

import (
	"math/bits"
	"slices"
	"sort"
)

// Sketch is what a near-duplicate of a message, or of an image in it, is told by:
// features that most of its variations keep. No feature says anything alone.
//
// A report stores a few groups: an anchor, and a sample of keys that stand near
// it. A check asks for every place of the message at which a report could be
// anchored. A match is one group of which the anchor and at least Need keys were
// stored together, so that keys of different reports never add up, and text around
// the reported one does not matter.
//
// Which features are anchors and keys is chosen by a hash under a secret key, in
// order that a sender cannot choose them: see Reported.
type Sketch struct {
	Kind    Kind      // KindSketch or KindImage
	Anchors []Feature // by position; an anchor may occur several times
	Keys    []Feature // by position, likewise
}

// Feature is one feature of a sketch.
type Feature struct {
	Hash uint64 // of what the feature is; the same everywhere
	Pos  uint32 // of its first word among the words of the text
}

// Group is an anchor and the keys that are stored, or asked, with it.
type Group struct {
	Anchor uint64   // keyed
	Keys   []uint64 // keyed, different ones
	Need   int      // a match needs that many of Keys
	Weak   int      // and that many where something else corroborates it
}

// StoredAnchors is how many of the groups that Reported returns are stored.
const StoredAnchors = 3

const (
	// storedKeys is how many keys a group stores, b in "t of b".
	storedKeys = 20
	// fewestKeys is how many different ones a text must have.
	fewestKeys = 12
	// need is t in "t of b" where the text asked is not much longer than the one
	// reported, as far as can be told from the number of keys asked: up to
	// fewAsked. needOfMany is t where it is. The weak ones are for matches that
	// something else corroborates.
	need, weak             = 8, 5
	needOfMany, weakOfMany = 11, 8
	fewAsked               = 50
	// candidates is how many groups a report offers, to choose from those whose
	// anchor nobody uses yet.
	candidates = 12
	// reach is how many levels below its own a text is asked at: it may be 2^reach
	// times as long as the reported text that it contains.
	reach = 5
	// maxAsked bounds the groups of one check.
	maxAsked = 1024
)

// Reported are the groups that a report of the message offers, each with the same
// keys. The first StoredAnchors are to be stored whose anchors are not in use by
// other reports, so that each report is told from the others; where all are, the
// first ones.
//
// keyed is a pseudo-random function under a key that no sender of mail knows. It
// decides which features are taken: a sender who could choose them would let them
// fall into words that differ from mail to mail.
//
// A text of n different keys is of level L, the highest at which at least 20 of
// their keyed hashes begin with L zero bits. Of those, the 20 smallest are stored
// (all, where n < 20); anchors are those whose hashes begin with L+1 zero bits
// (any, at level 0), smallest first.
func (s Sketch) Reported(keyed func(uint64) uint64) []Group {
	if s.Kind == KindImage {
		return nil
	}
	keys := distinct(keyedFeatures(s.Keys, keyed))
	if len(keys) < fewestKeys {
		return nil
	}
	level := levelOf(keys)
	sample := smallest(keys, level, storedKeys)
	var groups []Group
	for _, a := range smallest(distinct(keyedFeatures(s.Anchors, keyed)), anchorLevel(level), candidates) {
		groups = append(groups, Group{Anchor: anchorAt(a, level), Keys: sample, Need: need, Weak: weak})
	}
	return groups
}

// Asked are the groups that a check of the message asks for: at each level at
// which a reported text could be that this one is a variation of or contains, each
// anchor with the keys around it, as far as the reported text can extend. keyed is
// the same as for Reported. Keys of different groups share memory.
func (s Sketch) Asked(keyed func(uint64) uint64) []Group {
	if s.Kind == KindImage {
		return nil
	}
	keys, anchors := keyedFeatures(s.Keys, keyed), keyedFeatures(s.Anchors, keyed)
	all := distinct(keys)
	if len(all) < fewestKeys {
		return nil
	}
	own := levelOf(all)
	var groups []Group
	for level := own + 1; level >= max(0, own-reach); level-- {
		groups = appendAsked(groups, anchors, keys, level)
	}
	return groups
}

// appendAsked appends the groups of one level.
func appendAsked(groups []Group, anchors, keys []Feature, level int) []Group {
	extent := uint32(storedKeys*5/2) << level // of the longest text of the level, in words
	near := sampled(keys, level, 2*extent)
	hashes := make([]uint64, len(near))
	for i, k := range near {
		hashes[i] = k.Hash
	}
	from, to := 0, 0
	for _, a := range sampled(anchors, anchorLevel(level), extent) {
		for from < len(near) && near[from].Pos+extent < a.Pos {
			from++
		}
		for to < len(near) && near[to].Pos <= a.Pos+extent {
			to++
		}
		g := Group{Anchor: anchorAt(a.Hash, level), Keys: hashes[from:to], Need: need, Weak: weak}
		if len(g.Keys) > fewAsked {
			g.Need, g.Weak = needOfMany, weakOfMany
		}
		if len(g.Keys) >= g.Weak && len(groups) < maxAsked {
			groups = append(groups, g)
		}
	}
	return groups
}

// keyedFeatures are features under their keyed hashes.
func keyedFeatures(features []Feature, keyed func(uint64) uint64) []Feature {
	out := make([]Feature, len(features))
	for i, f := range features {
		out[i] = Feature{keyed(f.Hash), f.Pos}
	}
	return out
}

// distinct are the different hashes of features, smallest first.
func distinct(features []Feature) []uint64 {
	hashes := make([]uint64, len(features))
	for i, f := range features {
		hashes[i] = f.Hash
	}
	slices.Sort(hashes)
	return slices.Compact(hashes)
}

// levelOf is the highest level that holds storedKeys of sorted hashes; 0 where
// there are fewer.
func levelOf(sorted []uint64) int {
	if len(sorted) < storedKeys {
		return 0
	}
	return bits.LeadingZeros64(sorted[storedKeys-1])
}

// anchorLevel is how many zero bits the anchors of a level begin with.
func anchorLevel(level int) int {
	if level == 0 {
		return 0
	}
	return level + 1
}

// anchorAt tells apart the anchors of the levels: reports of different length do
// not share one.
func anchorAt(hash uint64, level int) uint64 { return scramble(hash + uint64(level)) }

// smallest are the first of sorted hashes that are of a level, at most n.
func smallest(sorted []uint64, level, n int) []uint64 {
	end := sort.Search(len(sorted), func(i int) bool { return bits.LeadingZeros64(sorted[i]) < level })
	return sorted[:min(n, end)]
}

// sampled are the features of a level. Of one that occurs several times within
// apart words, the first counts.
func sampled(features []Feature, level int, apart uint32) []Feature {
	var out []Feature
	last := make(map[uint64]uint32)
	for _, f := range features {
		if bits.LeadingZeros64(f.Hash) < level {
			continue
		}
		if at, ok := last[f.Hash]; ok && f.Pos-at <= apart {
			continue
		}
		last[f.Hash] = f.Pos
		out = append(out, f)
	}
	return out
}

// scramble is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection
// in which every bit of the result depends on every bit of x.
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
