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
// that are no greater than the message's last anchor. A report lists mail with 8 of its 20 keys, or with 5 and
// a link to a reported domain. It lists mail with one anchor of its picture, and many of the keys beside it.
type Group struct {
	Signatures []signature.Signature
	Anchors    [][]uint64       // keyed hashes of each sketch
	Need       []int            // of each sketch, how many a message must have; 0: the sketch is no evidence
	Kinds      []signature.Kind // of each sketch: parts of a text, and one anchor of a picture are enough; nil: Need is
	Domains    []string         // of links: less of the text is enough in mail with one of them
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
	linked  []int      // groups of which it has a domain
}

// place is where a hash occurs: as a signature or a domain of a group, or in a sketch.
type place struct {
	number   int // of the group, or of the sketch
	isSketch bool
	isDomain bool
}

func newQuestion(groups []Group) *question {
	q := &question{places: make(map[uint64][]place)}
	for i, g := range groups {
		for _, s := range g.Signatures {
			q.add(hashOf(s), place{number: i})
		}
		for _, d := range g.Domains {
			q.add(hashOf(signature.DomainSignature(d)), place{number: i, isDomain: true})
		}
		for n, anchors := range g.Anchors {
			for _, h := range anchors {
				q.add(h, place{number: len(q.need), isSketch: true})
			}
			need, keys := g.Need[n], []uint64(nil)
			if n < len(g.Kinds) && need > 0 {
				switch g.Kinds[n] {
				case signature.KindSketch:
					keys = anchors
				case signature.KindImage:
					need = 1
				}
			}
			q.need, q.owner, q.keys = append(q.need, need), append(q.owner, i), append(q.keys, keys)
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
	q.belongs, q.linked = q.belongs[:0], q.linked[:0]
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
			if p.isDomain {
				q.linked = append(q.linked, p.number)
			} else if !p.isSketch {
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
// greatest is last, as are 8 of 20, or 5 of 20 if a domain is in common, too.
func (q *question) isPart(sketch int, last uint64) bool {
	could, least := 0, 8
	if slices.Contains(q.linked, q.owner[sketch]) {
		least = 5
	}
	for _, k := range q.keys[sketch] {
		if k <= last {
			could++
		}
	}
	return q.common[sketch] >= fewestOfPart && could > 0 && 20*q.common[sketch] >= least*could
}
