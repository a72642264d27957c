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
}

// isText tells the kinds that the whole text of a message stands behind.
func isText(k signature.Kind) bool {
	return k == signature.KindBody || k == signature.KindText || k == signature.KindText2
}

// reach says which parts of a message have the quorum, from the sums of its keys. A
// signature has it by itself. A sketch of the text has it where a signature of the text
// has it, or enough of its own anchors; then the text's signatures have it too, as the
// message is one of those that were reported. An image's sketch never lists a message
// of which nothing else is listed.
func reach(set signature.Set, anchors []Anchors, sum func(Key) Weight, quorum Weight) reached {
	r := reached{signatures: make([]bool, len(set.Signatures)), sketches: make([]bool, len(set.Sketches))}
	body, byText := false, false
	for i, s := range set.Signatures {
		r.signatures[i] = sum(signatureKey(s)) >= quorum
		if r.signatures[i] {
			r.text = r.text || isText(s.Kind)
			body = body || s.Kind == signature.KindBody
		}
	}
	for i, a := range anchors {
		n := 0
		for _, h := range a.Hashes {
			if sum(anchorKey(set.Sketches[i].Kind, h)) >= quorum {
				n++
			}
		}
		r.sketches[i] = a.Need > 0 && n >= a.Need
		if r.sketches[i] && set.Sketches[i].Kind == signature.KindSketch {
			r.text, byText = true, true
		}
	}
	for i, s := range set.Signatures {
		r.signatures[i] = r.signatures[i] || byText && isText(s.Kind)
	}
	for i, s := range set.Sketches {
		r.sketches[i] = r.sketches[i] || r.text && s.Kind == signature.KindSketch || body
	}
	if !slices.Contains(r.signatures, true) {
		return reached{signatures: r.signatures, sketches: make([]bool, len(set.Sketches))}
	}
	return r
}

func (r reached) any() bool { return slices.Contains(r.signatures, true) }

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
