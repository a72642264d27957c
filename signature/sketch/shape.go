package sketch

import (
	"cmp"
	"slices"

	"github.com/spambloom/spambloom/signature/digest"
)

// The groups of a page, by the position of their features. The structure of a page is the
// anchor of each, and what joins it are the keys: alone it lists nothing.
const (
	fineOfSenders   = iota // the fine structure, and senders' codes
	coarseOfSenders        // the coarse structure, and senders' codes
	fineOfContents         // the fine structure, and words and paths
	shapeGroups
)

// A sender's code is codeSize of codeBits numbers. Two senders share 2 of 8 on average, so
// the numbers that reports of one structure have left tell how many senders reported mail
// has, although the filter does not record which report left which. One sender's reports
// never have needOfTwo, and those of two never needOfThree; those of two senders have the
// first in 98 of 100 cases, and those of three the second in 88.
const (
	codeBits, codeSize     = 32, 8
	needOfTwo, needOfThree = 12, 17
)

const (
	// storedContents is the number of words and paths of a page that are stored.
	storedContents = 12
	// fewestContents is the least number of them that must agree.
	fewestContents = 4
	// maxContents bounds those of a page that are looked up. Of more than manyContents, one
	// more must agree.
	maxContents, manyContents = 64, 32
)

// ByWords is Group.By if words and paths join the structure of a page.
const ByWords = "words"

// Shape is the structure of a page and what may join it.
type Shape struct {
	Fine, Coarse uint64   // hashes of the structure; 0: too little of it
	Sender       uint64   // hash of the sender's domain
	Contents     []uint64 // hashes of words and paths, different ones
}

// OfShape returns the sketch of a page.
func OfShape(p Shape) Sketch {
	s := Sketch{Kind: digest.KindShape}
	addCode := func(anchor uint64, pos uint32) {
		if anchor == 0 {
			return
		}
		s.Anchors = append(s.Anchors, Feature{anchor, pos})
		for _, n := range codeOf(p.Sender) {
			s.Keys = append(s.Keys, Feature{codeKey(anchor, n), pos})
		}
	}
	addCode(p.Fine, fineOfSenders)
	addCode(p.Coarse, coarseOfSenders)
	if p.Fine != 0 && len(p.Contents) >= fewestContents {
		s.Anchors = append(s.Anchors, Feature{digest.Mix(p.Fine), fineOfContents})
		for _, c := range p.Contents[:min(len(p.Contents), maxContents)] {
			s.Keys = append(s.Keys, Feature{c, fineOfContents})
		}
	}
	return s
}

// codeOf returns the numbers of a sender, ascending.
func codeOf(sender uint64) []int {
	numbers := make([]int, codeBits)
	rank := make([]uint64, codeBits)
	for i := range numbers {
		numbers[i], rank[i] = i, digest.Mix(sender^digest.Mix(uint64(i)+1))
	}
	slices.SortFunc(numbers, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
	code := numbers[:codeSize]
	slices.Sort(code)
	return code
}

// codeKey returns the key that stands for a number beside an anchor.
func codeKey(anchor uint64, n int) uint64 { return digest.Mix(anchor + uint64(n) + 1) }

// shapeReported returns the groups that a report of a page stores.
func (s Sketch) shapeReported(keyed func(uint64) uint64) (groups []Group) {
	for _, a := range s.Anchors {
		keys := s.keysAt(a.Pos, keyed)
		if a.Pos == fineOfContents {
			slices.Sort(keys)
			keys = keys[:min(len(keys), storedContents)]
		}
		groups = append(groups, shapeGroup(a.Pos, keyed(a.Hash), keys))
	}
	return groups
}

// shapeAsked returns the groups that a check of a page asks for: of each structure all
// numbers that senders may have left.
func (s Sketch) shapeAsked(keyed func(uint64) uint64) (groups []Group) {
	for _, a := range s.Anchors {
		keys := make([]uint64, 0, codeBits)
		for n := range codeBits {
			keys = append(keys, keyed(codeKey(a.Hash, n)))
		}
		if a.Pos == fineOfContents {
			keys = s.keysAt(a.Pos, keyed)
		}
		groups = append(groups, shapeGroup(a.Pos, keyed(a.Hash), keys))
	}
	return groups
}

// shapeGroup returns a group with its needs: a weak match is one sender's code, or a word
// less than enough.
func shapeGroup(pos uint32, anchor uint64, keys []uint64) Group {
	g := Group{Anchor: anchor, Keys: keys}
	switch pos {
	case fineOfSenders:
		g.Need, g.Weak, g.By = needOfTwo, codeSize, "two-senders"
	case coarseOfSenders:
		g.Need, g.Weak, g.By = needOfThree, needOfThree, "three-senders"
	default:
		g.Need = max(fewestContents, (2*min(len(keys), storedContents)+4)/5)
		if len(keys) > manyContents {
			g.Need++
		}
		g.Weak, g.By = g.Need-1, ByWords
	}
	return g
}

// keysAt returns the keys of a position.
func (s Sketch) keysAt(pos uint32, keyed func(uint64) uint64) (keys []uint64) {
	for _, k := range s.Keys {
		if k.Pos == pos {
			keys = append(keys, keyed(k.Hash))
		}
	}
	return keys
}

// shapeEssence returns the sketch without the contents that Reported uses under none of the
// functions.
func (s Sketch) shapeEssence(keyed []func(uint64) uint64) Sketch {
	e := Sketch{Kind: s.Kind, AskOnly: s.AskOnly, Anchors: s.Anchors}
	used := make([]bool, len(s.Keys))
	for _, k := range keyed {
		least := s.keysAt(fineOfContents, k)
		slices.Sort(least)
		least = least[:min(len(least), storedContents)]
		for i, f := range s.Keys {
			used[i] = used[i] || f.Pos != fineOfContents || slices.Contains(least, k(f.Hash))
		}
	}
	e.Keys = featuresOf(s.Keys, used)
	return e
}
