package judged

import (
	"slices"

	"github.com/spambloom/spambloom/signature"
)

// Group describes mail that belongs together: a message has one of the signatures, or enough
// anchors of a sketch.
//
// The anchors of a text are the least of its keys, which tells how much two texts have in common, whatever
// their lengths (Cohen and Kaplan, 2007): as large a part of the reported keys is in the message as of those
// that are no greater than the message's last anchor. A report lists mail with 8 of its 20 keys.
type Group struct {
	Signatures []signature.Signature
	Anchors    [][]uint64 // keyed hashes of each sketch
	Need       []int      // of each sketch, how many a message must have; 0: the sketch is no evidence
	Contained  []bool     // of each sketch: mail that contains a part of the text, or is a part of it, belongs, too; nil: none
}

// question is what a look searches for. Few hashes of other mail pass the bits.
type question struct {
	bits    []uint64 // one for each hash, of a power of two of them
	places  map[uint64][]place
	need    []int      // by number of the sketch
	owner   []int      // group of each sketch
	keys    [][]uint64 // of each sketch of which parts count
	common  []int      // anchors of each sketch in the message that is compared
	touched []int      // sketches of which common is not 0
	belongs []int      // groups of the message that is compared
}

// place is where a hash occurs: as a signature of a group, or in a sketch.
type place struct {
	number   int // of the group, or of the sketch
	isSketch bool
}

func newQuestion(groups []Group) *question {
	q := &question{places: make(map[uint64][]place)}
	for i, g := range groups {
		for _, s := range g.Signatures {
			q.add(hashOf(s), place{i, false})
		}
		for n, anchors := range g.Anchors {
			for _, h := range anchors {
				q.add(h, place{len(q.need), true})
			}
			q.need, q.owner, q.keys = append(q.need, g.Need[n]), append(q.owner, i), append(q.keys, nil)
			if n < len(g.Contained) && g.Contained[n] && g.Need[n] > 0 {
				q.keys[len(q.keys)-1] = anchors
			}
		}
	}
	q.common = make([]int, len(q.need))
	words := 1 << 6
	for words*64 < 64*len(q.places) {
		words *= 2
	}
	q.bits = make([]uint64, words)
	for h := range q.places {
		q.bits[h>>6&uint64(words-1)] |= 1 << (h % 64)
	}
	return q
}

// maxPlaces bounds the places of a hash. Of what more groups and sketches have in common, the first
// ones count: otherwise a reporter could let each message be compared with thousands of them.
const maxPlaces = 16

func (q *question) add(hash uint64, p place) {
	if len(q.places[hash]) < maxPlaces && !slices.Contains(q.places[hash], p) {
		q.places[hash] = append(q.places[hash], p)
	}
}

// groups returns the groups that a message of these hashes belongs to, each once. The shape is that of a
// record. The result is valid until the next call.
func (q *question) groups(hashes []uint64, shape uint64) []int {
	q.belongs = q.belongs[:0]
	for ; len(hashes) > 0; shape >>= 8 {
		n := shape & 0xff
		q.compare(hashes[:n])
		hashes = hashes[n:]
	}
	return q.belongs
}

// compare adds the groups to which a message belongs by one list of hashes.
func (q *question) compare(hashes []uint64) {
	for _, s := range q.touched {
		q.common[s] = 0
	}
	q.touched = q.touched[:0]
	for _, h := range hashes {
		if q.bits[h>>6&uint64(len(q.bits)-1)]&(1<<(h%64)) == 0 {
			continue
		}
		for _, p := range q.places[h] {
			if !p.isSketch {
				q.belong(p.number)
			} else if q.common[p.number]++; q.common[p.number] == 1 {
				q.touched = append(q.touched, p.number)
			}
		}
	}
	for _, s := range q.touched {
		if need := q.need[s]; need > 0 && q.common[s] >= need || q.isPart(s, hashes[len(hashes)-1]) {
			q.belong(q.owner[s])
		}
	}
}

func (q *question) belong(group int) {
	if !slices.Contains(q.belongs, group) {
		q.belongs = append(q.belongs, group)
	}
}

// fewestOfPart is how many anchors are no accident: texts have single runs of words in common.
const fewestOfPart = 2

// isPart reports whether a sketch has as many anchors in common with those of a message, of which the
// greatest is last, as are 8 of 20.
func (q *question) isPart(sketch int, last uint64) bool {
	could := 0
	for _, k := range q.keys[sketch] {
		if k <= last {
			could++
		}
	}
	return q.common[sketch] >= fewestOfPart && could > 0 && 20*q.common[sketch] >= 8*could
}
