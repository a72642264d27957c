package sketch

import (
	"slices"

	"github.com/spambloom/spambloom/signature/digest"
)

// The groups of a page, by the position of their features. The structure of a page is the
// anchor of each, and what joins it are the keys: alone it lists nothing.
const (
	fineOfSenders   = iota // the fine structure, and senders' codes
	coarseOfSenders        // the coarse structure, and senders' codes
	firstOutline           // an outline, and words and paths
	secondOutline
	shapeGroups
)

// The positions of the keys that join an outline: words and paths of a page of few words, or runs
// of words of a page of many, each run at a position of its own from runsPlace on.
const (
	contentsPlace = firstOutline
	runsPlace     = secondOutline
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
	// storedRuns is the number of runs of words of a page that are stored, askedRuns the number of those
	// that are looked up, and needOfRuns the number of those that must agree. If more were looked up, a
	// filter's error would find enough of them too often.
	storedRuns, askedRuns, needOfRuns, weakOfRuns = 16, 24, 3, 2
)

// ByWords is Group.By if words and paths join the structure of a page.
const ByWords = "words"

// Shape is the structure of a page and what may join it.
type Shape struct {
	Fine, Coarse uint64   // hashes of the structure; 0: too little of it
	Sender       uint64   // hash of the sender's domain
	Outlines     []uint64 // hashes of parts of the structure
	Contents     []uint64 // hashes of words and paths, different ones
	Runs         []uint64 // hashes of all its runs of words, of a page that has enough of them
}

// OfShape returns the sketch of a page.
func OfShape(p Shape) Sketch {
	s := Sketch{Kind: digest.KindShape}
	code := codeOf(p.Sender)
	addCode := func(anchor uint64, pos uint32) {
		if anchor == 0 {
			return
		}
		s.Anchors = append(s.Anchors, Feature{anchor, pos})
		for _, n := range code {
			s.Keys = append(s.Keys, Feature{codeKey(anchor, n), pos})
		}
	}
	addCode(p.Fine, fineOfSenders)
	addCode(p.Coarse, coarseOfSenders)
	if max(len(p.Contents), len(p.Runs)) < fewestContents {
		return s
	}
	for i, o := range p.Outlines {
		s.Anchors = append(s.Anchors, Feature{o, firstOutline + uint32(i)})
	}
	for _, c := range p.Contents[:min(len(p.Contents), maxContents)] {
		s.Keys = append(s.Keys, Feature{c, contentsPlace})
	}
	if len(p.Contents) > 0 {
		return s
	}
	s.Keys = slices.Grow(s.Keys, min(len(p.Runs), MaxWords))
	for i, run := range p.Runs[:min(len(p.Runs), MaxWords)] {
		s.Keys = append(s.Keys, Feature{run, runsPlace + uint32(i)})
	}
	return s
}

// codeOf returns the numbers of a sender, ascending.
func codeOf(sender uint64) []int {
	var ranks [codeBits]uint64 // the rank of a number, and the number in its last bits
	for i := range ranks {
		ranks[i] = digest.Mix(sender^digest.Mix(uint64(i)+1))&^(codeBits-1) | uint64(i)
	}
	slices.Sort(ranks[:])
	code := make([]int, codeSize)
	for i := range code {
		code[i] = int(ranks[i] % codeBits)
	}
	slices.Sort(code)
	return code
}

// codeKey returns the key that stands for a number beside an anchor.
func codeKey(anchor uint64, n int) uint64 { return digest.Mix(anchor + uint64(n) + 1) }

// shapeReported returns the groups that a report of a page stores.
func (s Sketch) shapeReported(keyed func(uint64) uint64) (groups []Group) {
	contents, isRuns := s.contents(keyed)
	contents = contents[:min(len(contents), storedOf(isRuns))]
	for _, a := range s.Anchors {
		if a.Pos >= firstOutline {
			groups = append(groups, contentsGroup(keyed(a.Hash), contents, isRuns))
		} else {
			groups = append(groups, senderGroup(a.Pos, keyed(a.Hash), s.keysAt(a.Pos, keyed)))
		}
	}
	return groups
}

// shapeAsked returns the groups that a check of a page asks for: of each structure all
// numbers that senders may have left.
func (s Sketch) shapeAsked(keyed func(uint64) uint64) (groups []Group) {
	contents, isRuns := s.contents(keyed)
	for _, a := range s.Anchors {
		if a.Pos >= firstOutline {
			groups = append(groups, contentsGroup(keyed(a.Hash), contents, isRuns))
			continue
		}
		keys := make([]uint64, 0, codeBits)
		for n := range codeBits {
			keys = append(keys, keyed(codeKey(a.Hash, n)))
		}
		groups = append(groups, senderGroup(a.Pos, keyed(a.Hash), keys))
	}
	return groups
}

// senderGroup returns a group of senders' numbers. A weak match is one sender's code.
func senderGroup(pos uint32, anchor uint64, keys []uint64) Group {
	if pos == fineOfSenders {
		return Group{Anchor: anchor, Keys: keys, Need: needOfTwo, Weak: codeSize, By: "two-senders"}
	}
	return Group{Anchor: anchor, Keys: keys, Need: needOfThree, Weak: needOfThree, By: "three-senders"}
}

// contentsGroup returns a group of the words and paths of a page, or of its runs of words.
func contentsGroup(anchor uint64, keys []uint64, isRuns bool) Group {
	g := Group{Anchor: anchor, Keys: keys, Need: needOfRuns, Weak: weakOfRuns, By: ByWords}
	if isRuns {
		return g
	}
	g.Need = max(fewestContents, (2*min(len(keys), storedContents)+4)/5)
	if len(keys) > manyContents {
		g.Need++
	}
	g.Weak = g.Need - 1
	return g
}

// storedOf returns the number of contents, or of runs of words, that are stored.
func storedOf(isRuns bool) int {
	if isRuns {
		return storedRuns
	}
	return storedContents
}

// contents returns the keys that join an outline, ascending, and whether they are runs of words.
func (s Sketch) contents(keyed func(uint64) uint64) (keys []uint64, isRuns bool) {
	keys = s.keysAt(contentsPlace, keyed)
	if len(keys) == 0 {
		return s.leastRuns(keyed), true
	}
	slices.Sort(keys)
	return keys, false
}

// leastRuns returns the smallest different runs of words under a key, ascending. The key decides, so
// that no sender can know which of them count: a spam that contained these few of a newsletter would
// list it.
func (s Sketch) leastRuns(keyed func(uint64) uint64) (runs []uint64) {
	first := slices.IndexFunc(s.Keys, func(k Feature) bool { return k.Pos >= runsPlace })
	if first < 0 {
		return nil
	}
	return leastOf(s.Keys[first:], askedRuns, keyed)
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
		least, isRuns := s.contents(k)
		missing := slices.Clone(least[:min(len(least), storedOf(isRuns))])
		for i, f := range s.Keys {
			if f.Pos < firstOutline {
				used[i] = true
			} else if at := slices.Index(missing, k(f.Hash)); at >= 0 { // where it occurs first
				used[i], missing = true, slices.Delete(missing, at, at+1)
			}
		}
	}
	e.Keys = featuresOf(s.Keys, used)
	return e
}
