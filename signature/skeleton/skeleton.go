// Package skeleton makes the structure of an HTML page: its tags in order, without its content. It
// owns what of a tag counts. What a page shows is read by package page, and which structures are
// signed is decided by package signature.
//
//	Restart -> Add for each start tag -> Skeleton
package skeleton

import (
	"strings"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	// maxBones bounds the elements of a coarse skeleton. Those behind them do not count.
	maxBones = 2048
	// longestRow is the number of elements up to which a row that is repeated counts once.
	longestRow = 8
	// maxKinds bounds the different elements that are counted.
	maxKinds = 8
	// Outlines is the number of outlines of a page.
	Outlines = 2
)

// Skeleton is the structure of a page without its content. It has two forms: all start tags
// in order, each with those of its attributes that are layout; and coarsely, the elements
// that boxes, lists and pictures are made of, in which rows of equal structure count once.
// So the coarse one remains if an item is added, or words are emphasised.
type Skeleton struct {
	Fine, Coarse uint64 // hashes
	Tags, Bones  int    // number of tags of the fine one, of elements of the coarse one
	TagKinds     int    // number of different tags, up to maxKinds
	BoneKinds    int    // the same for the coarse one
	HasLayout    bool   // it has a table, a picture or a form, and is not just text
	// Outlines are each a hash of two of the different runs of three tags, chosen by their hashes. Of two
	// pages that share a share s of their runs, an outline is the same with a chance of s^2. They
	// are 0 if there are fewer than eight different runs.
	Outlines [Outlines]uint64
}

// WithMark returns a skeleton with other hashes than k, different ones for each mark.
func (k Skeleton) WithMark(mark byte) Skeleton {
	for _, h := range []*uint64{&k.Fine, &k.Coarse, &k.Outlines[0], &k.Outlines[1]} {
		if *h != 0 {
			*h = digest.Mix(*h ^ uint64(mark))
		}
	}
	return k
}

// Collector collects the tags of a page. It is used by one goroutine at a time.
type Collector struct {
	bones []uint64 // of the coarse one
	fine  uint64
	tags  int
	boxed bool             // an element with layoutPart was read
	kinds [maxKinds]uint64 // different tags; 0 where there are fewer
	last  [2]uint64        // the tags before the one that is read
	runs  [maxKinds]uint64 // different runs of three tags
	least [Outlines][2]uint64
}

// Restart empties s for another page. It keeps its buffer, unless that is too large.
func (s *Collector) Restart() { *s = Collector{bones: s.bones[:0], fine: fnvOffset} }

// FNV-1a of 64 bits.
const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

// Add adds a start tag with the set of its attributes.
func (s *Collector) Add(name []byte, attributes uint32) {
	h := uint64(fnvOffset)
	for _, c := range name {
		h = (h ^ uint64(c)) * fnvPrime
	}
	h = (h ^ uint64(attributes)) * fnvPrime
	s.fine = (s.fine ^ h ^ s.fine>>29) * fnvPrime
	s.tags++
	if s.tags > len(s.last) {
		s.addRun(digest.Mix(s.last[0] + digest.Mix(s.last[1]+digest.Mix(h))))
	}
	s.last = [...]uint64{s.last[1], h}
	addKind(&s.kinds, h)
	part := partOf[string(name)]
	s.boxed = s.boxed || part&layoutPart != 0
	if part&bonePart != 0 && len(s.bones) < maxBones {
		s.bones = withoutRow(append(s.bones, h))
	}
}

// addRun adds a run of three tags to the outlines. Each keeps the two different runs with the
// smallest hashes.
func (s *Collector) addRun(run uint64) {
	addKind(&s.runs, run)
	for i := range s.least {
		h, l := digest.Mix(run+uint64(i)), &s.least[i]
		switch {
		case l[0] == 0 || h < l[0]:
			l[0], l[1] = h, l[0]
		case h > l[0] && (l[1] == 0 || h < l[1]):
			l[1] = h
		}
	}
}

// outlines returns the outlines of the page.
func (s *Collector) outlines() (o [Outlines]uint64) {
	if count(&s.runs) < maxKinds {
		return o
	}
	for i, l := range s.least {
		o[i] = digest.Mix(l[0] + digest.Mix(l[1]+uint64(i)))
	}
	return o
}

// addKind adds a tag to a set, if there is room.
func addKind(kinds *[maxKinds]uint64, h uint64) {
	for i, k := range kinds {
		if k == h {
			return
		}
		if k == 0 {
			kinds[i] = h
			return
		}
	}
}

// withoutRow removes the last elements if they repeat those before them.
func withoutRow(bones []uint64) []uint64 {
	n := len(bones)
	for row := 1; row <= longestRow && 2*row <= n; row++ {
		i := n - 1
		for i >= n-row && bones[i] == bones[i-row] {
			i--
		}
		if i < n-row {
			return bones[:n-row]
		}
	}
	return bones
}

// Skeleton returns what was collected. Its cost is a step for each element of the coarse form.
func (s *Collector) Skeleton(w *work.Steps) Skeleton {
	w.Spend(len(s.bones))
	coarse, kinds := uint64(fnvOffset), [maxKinds]uint64{}
	for _, b := range s.bones {
		coarse = (coarse ^ b ^ coarse>>29) * fnvPrime
		addKind(&kinds, b)
	}
	return Skeleton{Fine: s.fine, Coarse: coarse, Tags: s.tags, Bones: len(s.bones), TagKinds: count(&s.kinds), BoneKinds: count(&kinds),
		HasLayout: s.boxed, Outlines: s.outlines()}
}

func count(kinds *[maxKinds]uint64) (n int) {
	for n < len(kinds) && kinds[n] != 0 {
		n++
	}
	return n
}

// part is what an element is for a skeleton.
type part uint8

const (
	bonePart   part = 1 << iota // an element of the coarse skeleton
	layoutPart                  // one that mail programs do not write around a letter
)

var partOf = partsOf(map[part]string{
	bonePart: `table tr td th img a div p center ul ol li h1 h2 h3 h4 h5 h6 hr form input button select textarea map area section
		header footer article nav v:roundrect v:rect v:fill blockquote pre dl dt dd iframe object embed svg video body`,
	layoutPart: "table img map form input button center iframe object embed v:rect v:roundrect",
})

func partsOf(lists map[part]string) map[string]part {
	m := make(map[string]part)
	for p, list := range lists {
		for name := range strings.FieldsSeq(list) {
			m[name] |= p
		}
	}
	return m
}
