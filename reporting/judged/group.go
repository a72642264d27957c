package judged

import (
	"slices"

	"github.com/spambloom/spambloom/signature"
)

// Group describes mail that belongs together: a message has one of the signatures, or enough
// anchors of a sketch.
type Group struct {
	Signatures []signature.Signature
	Anchors    [][]uint64 // keyed hashes of each sketch
	Need       []int      // of each sketch, how many a message must have; 0: the sketch is no evidence
}

// question is what a look searches for. Few hashes of other mail pass the bits.
type question struct {
	bits    []uint64 // one for each hash, of a power of two of them
	places  map[uint64][]place
	need    []int // by number of the sketch
	owner   []int // group of each sketch
	common  []int // anchors of each sketch in the message that is compared
	touched []int // sketches of which common is not 0
	belongs []int // groups of the message that is compared
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
			q.need, q.owner = append(q.need, g.Need[n]), append(q.owner, i)
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

// groups returns the groups that a message of these hashes belongs to, each once. The result is valid
// until the next call.
func (q *question) groups(hashes []uint64) []int {
	for _, s := range q.touched {
		q.common[s] = 0
	}
	q.touched, q.belongs = q.touched[:0], q.belongs[:0]
	for _, h := range hashes {
		if q.bits[h>>6&uint64(len(q.bits)-1)]&(1<<(h%64)) == 0 {
			continue
		}
		for _, p := range q.places[h] {
			group := p.number
			if p.isSketch {
				group = q.owner[p.number]
				if q.common[p.number]++; q.common[p.number] == 1 {
					q.touched = append(q.touched, p.number)
				}
				if q.common[p.number] != q.need[p.number] {
					continue
				}
			}
			if !slices.Contains(q.belongs, group) {
				q.belongs = append(q.belongs, group)
			}
		}
	}
	return q.belongs
}
