package sketch

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/spambloom/spambloom/signature/digest"
)

// Sketch identifies near-duplicates of a text or an image by features that most of its
// variations keep. No feature is evidence alone.
//
// A report stores a few groups: an anchor, and a sample of keys near it. A check asks for
// every place of the message at which a report could be anchored. A match is one group of
// which the anchor and at least Need keys were stored together. So keys of different
// reports never add up, and text around the reported one does not matter.
//
// A hash under a secret key decides which features are anchors and keys, so that a sender
// cannot choose them: see Reported.
type Sketch struct {
	Kind    digest.Kind // KindSketch, KindImage or KindShape
	Anchors []Feature   // by position; an anchor may occur several times
	Keys    []Feature   // by position; a key may occur several times
	// AskOnly is set if the text has too little content to be reported, but enough to be
	// asked for: a few lines beside a file, which spam may have been given.
	AskOnly bool
}

// Feature is one feature of a sketch.
type Feature struct {
	Hash uint64 // of the feature's content; the same everywhere
	Pos  uint32 // number of its first word in the text
}

// Group is an anchor and the keys that are stored, or asked, with it.
type Group struct {
	Anchor uint64   // keyed
	Keys   []uint64 // keyed, all different
	Need   int      // number of Keys that a match needs
	Weak   int      // number of Keys that a match needs if something else supports it
	By     string   // of a shape: what joins it in a match, in words without blanks
}

// StoredAnchors is the number of the groups of Reported that are stored.
const StoredAnchors = 3

const (
	// MaxWords bounds the words that are sketched.
	MaxWords = 16 << 10
	// storedKeys is the number of keys that a group stores, b in "t of b".
	storedKeys = 20
	// fewestKeys is the least number of different keys of a text.
	fewestKeys = 12
	// need is t in "t of b" if the text asked for is not much longer than the reported
	// one. The number of keys asked for, up to fewAsked, indicates that. needOfMany is t
	// if it is longer. The weak ones are for matches that something else supports.
	need, weak             = 8, 5
	needOfMany, weakOfMany = 10, 8
	fewAsked               = 50
	// candidates is the number of groups that a report offers. Those are stored whose anchor is not
	// in use yet.
	candidates = 12
	// reach is the number of levels below its own at which a text is asked. It may be 2^reach times
	// as long as the reported text that it contains.
	reach = 4
	// MaxAsked bounds the groups that Asked returns. If there are as many, the caller
	// adds LimitGroups to the limits of the message.
	MaxAsked = 1024
)

// Reported returns the groups that a report of the message offers, each with the same
// keys. The caller stores the first StoredAnchors of those whose anchors are not in use
// by other reports, so that reports can be told apart; if all are in use, the first ones.
//
// keyed is a pseudo-random function under a key that no sender of mail knows. It decides
// which features are taken. A sender who could choose them would place them in words that
// differ from mail to mail.
//
// A text is of level L, the highest one at which at least 20 of its different keyed keys
// begin with L zero bits. The 20 smallest of these are stored, or all if the text has
// fewer. Its anchors are those that begin with L+1 zero bits. The 12 smallest are
// offered, by turns from the beginning, the middle and the end of the text. There are
// none if the sketch is AskOnly.
func (s Sketch) Reported(keyed func(uint64) uint64) []Group {
	return s.ReportedBut(keyed, func(uint64) bool { return false })
}

// ReportedBut is Reported without the keys of a text, keyed, that are common. Others of its level
// take their places. There are no groups if fewer than 12 keys of the level are left.
func (s Sketch) ReportedBut(keyed func(uint64) uint64, isCommon func(uint64) bool) []Group {
	if s.AskOnly {
		return nil
	}
	switch s.Kind {
	case digest.KindImage:
		return s.imageGroups(keyed, 1)
	case digest.KindShape:
		return s.shapeReported(keyed)
	}
	keys := placesOf(s.Keys, keyed)
	level, ok := levelOf(keys)
	if !ok {
		return nil
	}
	var sample []uint64
	for _, k := range smallest(keys, level, len(keys)) {
		if len(sample) < storedKeys && !isCommon(k.hash) {
			sample = append(sample, k.hash)
		}
	}
	if len(sample) < fewestKeys {
		return nil
	}
	var groups []Group
	for _, a := range spread(smallest(placesOf(s.Anchors, keyed), level+1, candidates)) {
		groups = append(groups, Group{Anchor: anchorAt(a.hash, level), Keys: sample, Need: need, Weak: weak})
	}
	return groups
}

// spread orders anchors so that each StoredAnchors in a row stand in different parts of
// the text, if these have some. If a part of the text is cut off, the others remain. In
// each part, the order is as before.
func spread(anchors []place) []place {
	var parts [StoredAnchors][]place
	length := uint32(1)
	for _, a := range anchors {
		length = max(length, a.pos+1)
	}
	for _, a := range anchors {
		i := uint64(a.pos) * StoredAnchors / uint64(length)
		parts[i] = append(parts[i], a)
	}
	out := make([]place, 0, len(anchors))
	for n := 0; len(out) < len(anchors); n++ {
		for _, part := range parts {
			if n < len(part) {
				out = append(out, part[n])
			}
		}
	}
	return out
}

// Asked returns the groups that a check of the message asks for. A reported text may be a
// variation of this one, or be contained in it. At each level that such a text could
// have, there is each anchor with the keys around it, as far as that text can extend.
// keyed is the same as for Reported. Keys of different groups share memory.
func (s Sketch) Asked(keyed func(uint64) uint64) []Group {
	switch s.Kind {
	case digest.KindImage:
		return s.imageGroups(keyed, math.MaxUint32)
	case digest.KindShape:
		return s.shapeAsked(keyed)
	}
	keys := placesOf(s.Keys, keyed)
	own, ok := levelOf(keys)
	if !ok {
		return nil
	}
	anchors := placesOf(s.Anchors, keyed)
	lowest := max(0, own-reach)
	atLowest := 0
	for i := range anchors {
		if anchors[i].isSampled(lowest+1, 0) {
			atLowest++
		}
	}
	groups := make([]Group, 0, min(2*atLowest, MaxAsked)) // each level has about half of the groups of the one below it
	var near []place
	for level := own + 1; level >= lowest; level-- {
		extent := uint32(storedKeys*5/2) << level // of the longest text of the level, in words
		near = sampled(near[:0], keys, level, 2*extent)
		groups = appendAsked(groups, anchors, near, level, extent)
	}
	return groups
}

// appendAsked appends the groups of one level. Near contains its keys.
func appendAsked(groups []Group, anchors, near []place, level int, extent uint32) []Group {
	hashes := make([]uint64, len(near))
	for i, k := range near {
		hashes[i] = k.hash
	}
	from, to := 0, 0
	for i := range anchors {
		a := &anchors[i]
		if !a.isSampled(level+1, extent) {
			continue
		}
		for from < len(near) && near[from].pos+extent < a.pos {
			from++
		}
		for to < len(near) && near[to].pos <= a.pos+extent {
			to++
		}
		g := Group{Anchor: anchorAt(a.hash, level), Keys: hashes[from:to], Need: need, Weak: weak}
		if len(g.Keys) > fewAsked {
			g.Need, g.Weak = needOfMany, weakOfMany
		}
		if len(g.Keys) >= g.Weak && len(groups) < MaxAsked {
			groups = append(groups, g)
		}
	}
	return groups
}

// place is a feature under its keyed hash.
type place struct {
	hash  uint64
	pos   uint32
	since uint32 // words since the hash occurred last; never if it did not
}

const never = math.MaxUint32

// placesOf returns the places of features, in the same order.
func placesOf(features []Feature, keyed func(uint64) uint64) []place {
	places := make([]place, len(features))
	mask := uint64(1)<<bits.Len(uint(2*len(features))) - 1
	last := make([]uint32, mask+1) // number of the last place of a hash; open addressing
	for i, f := range features {
		p := place{keyed(f.Hash), f.Pos, never}
		slot := p.hash & mask
		for last[slot] != 0 && places[last[slot]-1].hash != p.hash {
			slot = (slot + 1) & mask
		}
		if n := last[slot]; n != 0 {
			p.since = p.pos - places[n-1].pos
		}
		last[slot] = uint32(i + 1)
		places[i] = p
	}
	return places
}

// levelOf returns the highest level that has storedKeys different keys; 0 if there are
// fewer. It is not ok if there are too few for a sketch.
func levelOf(keys []place) (level int, ok bool) {
	var at [65]int // different keys by their leading zero bits
	n := 0
	for _, k := range keys {
		if k.since == never {
			at[bits.LeadingZeros64(k.hash)]++
			n++
		}
	}
	if n < fewestKeys {
		return 0, false
	}
	n = 0
	for level = 64; level > 0; level-- {
		if n += at[level]; n >= storedKeys {
			break
		}
	}
	return level, true
}

// anchorAt returns the anchor of a hash at a level. Reports of different length share no
// anchors.
func anchorAt(hash uint64, level int) uint64 { return digest.Mix(hash + uint64(level)) }

// smallest returns the n different places of a level with the smallest hashes. These have the most
// leading zero bits, so only places with as many as the last of them are sorted.
func smallest(places []place, level, n int) []place {
	var at [65]int // different places by their leading zero bits
	for i := range places {
		if places[i].since == never {
			at[bits.LeadingZeros64(places[i].hash)]++
		}
	}
	lowest, found := 64, at[64]
	for lowest > level && found < n {
		lowest--
		found += at[lowest]
	}
	of := make([]place, 0, found)
	for _, p := range places {
		if p.since == never && bits.LeadingZeros64(p.hash) >= lowest {
			of = append(of, p)
		}
	}
	slices.SortFunc(of, func(a, b place) int { return cmp.Compare(a.hash, b.hash) })
	return of[:min(n, len(of))]
}

// sampled appends the places of a level that are sampled to out.
func sampled(out, places []place, level int, apart uint32) []place {
	for i := range places {
		if places[i].isSampled(level, apart) {
			out = append(out, places[i])
		}
	}
	return out
}

// isSampled reports whether a place is of a level, and not within apart words of the last place of
// the same hash.
func (p *place) isSampled(level int, apart uint32) bool {
	return p.since > apart && bits.LeadingZeros64(p.hash) >= level
}
