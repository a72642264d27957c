// Package identity decides which sets of signatures are of one message. It is pure.
package identity

import (
	"slices"

	"github.com/spambloom/spambloom/signature"
)

// IsSame reports whether two messages have the same text or body. An attachment may be in
// different messages.
func IsSame(a, b signature.Set) bool {
	return slices.ContainsFunc(a.Signatures, func(s signature.Signature) bool {
		return s.Kind.IsOfMessage() && slices.Contains(b.Signatures, s)
	})
}

// IsText reports whether a part of a message is its text or body, exactly or as a sketch.
func IsText(part signature.Set) bool {
	return slices.ContainsFunc(part.Signatures, func(s signature.Signature) bool { return s.Kind.IsOfMessage() }) ||
		slices.ContainsFunc(part.Sketches, func(s signature.Sketch) bool { return s.Kind == signature.KindSketch })
}

// Exact returns the exact signatures of a message's text and body.
func Exact(set signature.Set) signature.Set {
	isOther := func(s signature.Signature) bool { return !s.Kind.IsOfMessage() }
	return signature.Set{Signatures: slices.DeleteFunc(slices.Clone(set.Signatures), isOther)}
}

// shared returns a message without the files and pictures that another one with the same or a similar text does
// not have: anybody can send a text again, with the file of a spam.
func shared(set, other signature.Set) signature.Set {
	isLacking := func(s signature.Signature) bool {
		return !s.Kind.IsOfMessage() && !slices.Contains(other.Signatures, s)
	}
	if slices.ContainsFunc(set.Signatures, isLacking) {
		set.Signatures = slices.DeleteFunc(slices.Clone(set.Signatures), isLacking)
		set.Sketches = slices.DeleteFunc(slices.Clone(set.Sketches), func(s signature.Sketch) bool { return s.Kind != signature.KindSketch })
	}
	return set
}

// common returns what two messages with the same file, picture or structure of a page have in common: the
// signatures, and sketches of this kind. Anybody can send a file again, with the text of a spam.
func common(kind signature.Kind, set, other signature.Set) signature.Set {
	isLacking := func(s signature.Signature) bool { return !slices.Contains(other.Signatures, s) }
	return signature.Set{
		Signatures: slices.DeleteFunc(slices.Clone(set.Signatures), isLacking),
		Sketches:   slices.DeleteFunc(slices.Clone(set.Sketches), func(s signature.Sketch) bool { return s.Kind != kind }),
	}
}

// Joint is what all messages with an id or a queue id have in common. There may be any number of them, because
// anybody can send many after the one that is meant.
type Joint struct {
	Of        signature.Kind // of the id
	IsQueueID bool

	Set         signature.Set
	IsAmbiguous bool // different mail has the queue id or picture
	hasAny      bool
}

// Add takes a message into account, the latest first. It reports whether that is the first.
func (j *Joint) Add(set signature.Set) (isFirst bool) {
	if isFirst = !j.hasAny; isFirst {
		j.Set, j.hasAny = set, true
	}
	switch {
	case j.IsAmbiguous:
	case IsSame(set, j.Set) || j.Of == signature.KindSketch:
		j.Set = shared(j.Set, set)
	default:
		j.Set = common(j.Of, j.Set, set)
		j.IsAmbiguous = j.IsQueueID || len(j.Set.Signatures) == 0
	}
	return isFirst
}

// CanBeSame reports whether two sets with the same text or body have the same files, and sketches of
// which one contains the other. A sketch that was stored during a change of the key has more features.
// The shape of a page may differ between copies, because it depends on the sender.
func CanBeSame(a, b signature.Set) bool {
	isShape := func(s signature.Sketch) bool { return s.Kind == signature.KindShape }
	a.Sketches = slices.DeleteFunc(slices.Clone(a.Sketches), isShape)
	b.Sketches = slices.DeleteFunc(slices.Clone(b.Sketches), isShape)
	return within(a, b) || within(b, a)
}

func within(a, b signature.Set) bool {
	hasSketch := func(s signature.Sketch) bool {
		return slices.ContainsFunc(b.Sketches, func(other signature.Sketch) bool {
			return other.Kind == s.Kind && !slices.ContainsFunc(s.Keys, func(f signature.Feature) bool {
				return !slices.ContainsFunc(other.Keys, func(o signature.Feature) bool { return o.Hash == f.Hash })
			})
		})
	}
	return len(a.Sketches) == len(b.Sketches) && len(a.Signatures) == len(b.Signatures) &&
		!slices.ContainsFunc(a.Signatures, func(s signature.Signature) bool { return !s.Kind.IsOfMessage() && !slices.Contains(b.Signatures, s) }) &&
		!slices.ContainsFunc(a.Sketches, func(s signature.Sketch) bool { return !hasSketch(s) })
}

// Split returns a message with those of its signatures and sketches for which keep is true, and the others. Link domains
// belong to the text.
func Split(set signature.Set, keep func(one signature.Set) bool) (rest, others signature.Set) {
	rest, others = set, signature.Set{}
	rest.Signatures, rest.Sketches = nil, nil
	for _, s := range set.Signatures {
		if keep(signature.Set{Signatures: []signature.Signature{s}}) {
			rest.Signatures = append(rest.Signatures, s)
		} else {
			others.Signatures = append(others.Signatures, s)
		}
	}
	for _, s := range set.Sketches {
		if keep(signature.Set{Sketches: []signature.Sketch{s}}) {
			rest.Sketches = append(rest.Sketches, s)
		} else {
			others.Sketches = append(others.Sketches, s)
		}
	}
	if !IsText(rest) {
		rest.Domains = nil
	}
	return rest, others
}

// Known returns the parts of a message that isKnown, those of the text together. If the text is known by its sketch only,
// because a message was reported that is like it in a part, the sketch has only the anchors from the first to the last
// that is known. A message that was listed by a file has a text, too, of which nobody has reported anything.
func Known(set signature.Set, isKnown func(part signature.Set) bool) signature.Set {
	text, _ := Split(set, IsText)
	isText, isExact := isKnown(text), isKnown(Exact(text))
	rest, _ := Split(set, func(one signature.Set) bool {
		if IsText(one) {
			return isText
		}
		return isKnown(one)
	})
	for i, s := range rest.Sketches {
		if s.Kind == signature.KindSketch && !isExact {
			rest.Sketches[i] = between(s, isKnown)
		}
	}
	return rest
}

// between returns a sketch with the anchors from the first to the last one of which a sketch isKnown.
func between(s signature.Sketch, isKnown func(part signature.Set) bool) signature.Sketch {
	first, last := 0, len(s.Anchors)
	isAt := func(i int) bool {
		one := s
		one.Anchors = s.Anchors[i : i+1]
		return isKnown(signature.Set{Sketches: []signature.Sketch{one}})
	}
	for first < last && !isAt(first) {
		first++
	}
	for first < last && !isAt(last-1) {
		last--
	}
	s.Anchors = s.Anchors[first:last]
	return s
}
