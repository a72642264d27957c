package record

import (
	"slices"

	"github.com/spambloom/spambloom/signature"
)

// Reached are the parts of a message that have the quorum.
type Reached struct {
	Signatures []bool
	Sketches   []bool
	text       bool // the text, by a signature or a sketch, and with it the domains
	near       bool // the text, by a sketch
}

// Reach returns the parts of a message that have the quorum, from the sums of its keys: a
// signature by itself, a sketch by enough of its own anchors. Neither is evidence for the
// other, because a reporter names them all, and nobody can check that they belong to one
// message. The sketch of an image never lists a message of which nothing else is listed.
func Reach(set signature.Set, anchors []Anchors, sum func(Key) Weight, quorum Weight) Reached {
	r := Reached{Signatures: make([]bool, len(set.Signatures)), Sketches: make([]bool, len(set.Sketches))}
	for i, s := range set.Signatures {
		r.Signatures[i] = sum(SignatureKey(s)) >= quorum
		r.text = r.text || r.Signatures[i] && s.Kind.IsOfMessage()
	}
	for i, a := range anchors {
		kind, n := set.Sketches[i].Kind, 0
		for _, h := range a.Hashes {
			if sum(AnchorKey(kind, h)) >= quorum {
				n++
			}
		}
		r.Sketches[i] = a.Need > 0 && n >= a.Need
		r.near = r.near || r.Sketches[i] && kind == signature.KindSketch
	}
	r.text = r.text || r.near
	if !r.text && !slices.Contains(r.Signatures, true) {
		r.Sketches = make([]bool, len(set.Sketches))
	}
	return r
}

// Where returns the parts of a message that are as is says, by the rules of Reach.
func Where(set signature.Set, anchors []Anchors, is func(Key) bool) Reached {
	return Reach(set, anchors, func(k Key) Weight {
		if is(k) {
			return one
		}
		return 0
	}, one)
}

// All reports whether every part of a message is as is says: a signature by itself, a sketch by
// enough of its own anchors.
func All(set signature.Set, anchors []Anchors, is func(Key) bool) bool {
	r := Where(set, anchors, is)
	return !slices.Contains(r.Signatures, false) && !slices.Contains(r.Sketches, false)
}

// Any reports whether any part has the quorum.
func (r Reached) Any() bool {
	return slices.Contains(r.Signatures, true) || slices.Contains(r.Sketches, true)
}

// IsText reports whether the text has the quorum, by a signature or a sketch.
func (r Reached) IsText() bool { return r.text }

// IsNear reports whether the sketch of the text has the quorum.
func (r Reached) IsNear() bool { return r.near }

// Without returns the parts that are in r and not in other.
func (r Reached) Without(other Reached) Reached {
	d := Reached{Signatures: make([]bool, len(r.Signatures)), Sketches: make([]bool, len(r.Sketches)), text: r.text && !other.text}
	for i := range r.Signatures {
		d.Signatures[i] = r.Signatures[i] && !other.Signatures[i]
	}
	for i := range r.Sketches {
		d.Sketches[i] = r.Sketches[i] && !other.Sketches[i]
	}
	return d
}

// Lost returns the parts that are in r and no longer in after. A text whose sketch still has
// the quorum is spam as a near-duplicate, and is not lost.
func (r Reached) Lost(set signature.Set, after Reached) Reached {
	d := r.Without(after)
	for i, s := range set.Signatures {
		d.Signatures[i] = d.Signatures[i] && !(after.near && s.Kind.IsOfMessage())
	}
	return d
}

// With returns the parts that are in r or in other.
func (r Reached) With(other Reached) Reached {
	d := Reached{Signatures: slices.Clone(r.Signatures), Sketches: slices.Clone(r.Sketches), text: r.text || other.text}
	for i := range d.Signatures {
		d.Signatures[i] = d.Signatures[i] || other.Signatures[i]
	}
	for i := range d.Sketches {
		d.Sketches[i] = d.Sketches[i] || other.Sketches[i]
	}
	return d
}

// Of returns the parts of a message, and the places of the sketches in the message.
func (r Reached) Of(set signature.Set) (part signature.Set, places []int) {
	for i, s := range set.Signatures {
		if r.Signatures[i] {
			part.Signatures = append(part.Signatures, s)
		}
	}
	for i, s := range set.Sketches {
		if r.Sketches[i] {
			part.Sketches, places = append(part.Sketches, s), append(places, i)
		}
	}
	if r.text {
		part.Domains = set.Domains
	}
	return part, places
}

// Rest returns the parts of a message that have not the quorum.
func (r Reached) Rest(set signature.Set, anchors []Anchors) (rest signature.Set, restAnchors []Anchors) {
	for i, s := range set.Signatures {
		if !r.Signatures[i] {
			rest.Signatures = append(rest.Signatures, s)
		}
	}
	for i, s := range set.Sketches {
		if !r.Sketches[i] {
			rest.Sketches, restAnchors = append(rest.Sketches, s), append(restAnchors, anchors[i])
		}
	}
	return rest, restAnchors
}
