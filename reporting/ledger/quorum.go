package ledger

import (
	"slices"

	"github.com/spambloom/spambloom/signature"
)

// reached are the parts of a message that have the quorum.
type reached struct {
	signatures []bool
	sketches   []bool
	text       bool // its text, by a signature or a sketch: then its domains too
	near       bool // its text, by a sketch
}

// isText tells the kinds that the whole text of a message stands behind.
func isText(k signature.Kind) bool {
	return k == signature.KindBody || k == signature.KindText
}

// reach says which parts of a message have the quorum, from the sums of its keys: a
// signature by itself, a sketch by enough of its own anchors. Neither stands for the
// other: who reports names them all, and nobody can check that they are of one message.
// An image's sketch never lists a message of which nothing else is listed.
func reach(set signature.Set, anchors []Anchors, sum func(Key) Weight, quorum Weight) reached {
	r := reached{signatures: make([]bool, len(set.Signatures)), sketches: make([]bool, len(set.Sketches))}
	for i, s := range set.Signatures {
		r.signatures[i] = sum(signatureKey(s)) >= quorum
		r.text = r.text || r.signatures[i] && isText(s.Kind)
	}
	for i, a := range anchors {
		kind, n := set.Sketches[i].Kind, 0
		for _, h := range a.Hashes {
			if sum(anchorKey(kind, h)) >= quorum {
				n++
			}
		}
		r.sketches[i] = a.Need > 0 && n >= a.Need
		r.near = r.near || r.sketches[i] && kind == signature.KindSketch
	}
	r.text = r.text || r.near
	if !r.text && !slices.Contains(r.signatures, true) {
		r.sketches = make([]bool, len(set.Sketches))
	}
	return r
}

func (r reached) any() bool {
	return slices.Contains(r.signatures, true) || slices.Contains(r.sketches, true)
}

// without are the parts that r has and other has not.
func (r reached) without(other reached) reached {
	d := reached{signatures: make([]bool, len(r.signatures)), sketches: make([]bool, len(r.sketches)), text: r.text && !other.text}
	for i := range r.signatures {
		d.signatures[i] = r.signatures[i] && !other.signatures[i]
	}
	for i := range r.sketches {
		d.sketches[i] = r.sketches[i] && !other.sketches[i]
	}
	return d
}

// lost are the parts that r has and after has not any longer. A text of which the sketch
// still has the quorum is spam as a near-duplicate, and not taken back.
func (r reached) lost(set signature.Set, after reached) reached {
	d := r.without(after)
	for i, s := range set.Signatures {
		d.signatures[i] = d.signatures[i] && !(after.near && isText(s.Kind))
	}
	return d
}

// with are the parts that either has.
func (r reached) with(other reached) reached {
	d := reached{signatures: slices.Clone(r.signatures), sketches: slices.Clone(r.sketches), text: r.text || other.text}
	for i := range d.signatures {
		d.signatures[i] = d.signatures[i] || other.signatures[i]
	}
	for i := range d.sketches {
		d.sketches[i] = d.sketches[i] || other.sketches[i]
	}
	return d
}

// of is the part of a message that r says, and where its sketches stand in the message.
func (r reached) of(set signature.Set) (part signature.Set, places []int) {
	for i, s := range set.Signatures {
		if r.signatures[i] {
			part.Signatures = append(part.Signatures, s)
		}
	}
	for i, s := range set.Sketches {
		if r.sketches[i] {
			part.Sketches, places = append(part.Sketches, s), append(places, i)
		}
	}
	if r.text {
		part.Domains = set.Domains
	}
	return part, places
}
