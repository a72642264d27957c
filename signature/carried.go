package signature

import "slices"

// carriage is how a message brings a part: as its body, or as something it carries.
//
// A spam may carry a newsletter, so that those who report the spam list the newsletter.
// Therefore what is carried signs marked: its signatures match what carries the same in
// the same way, and never a message whose body it is. The other way round, text in a
// later part or an attached message is also asked for as it would be in a body: a
// reported text is found in them (Sketch.AskOnly).
//
// Files of the message itself are not carried in this sense. They are what a reader
// opens, and often the only thing that a spam consists of.
type carriage uint8

const (
	ownPart      carriage = iota
	laterPart             // not the first of parts that are shown one below the other
	attachedPart          // of an attached message
)

// mark is what is hashed before all that is carried so. No text, list of digests or
// class of a part begins like it.
func (c carriage) mark() []byte { return markOfCarriage[c] }

var markOfCarriage = [...][]byte{ownPart: nil, laterPart: {1}, attachedPart: {2}}

// marked is content with its mark.
func (c carriage) marked(content []byte) []byte {
	if c == ownPart {
		return content
	}
	return slices.Concat(c.mark(), content)
}

// digest is the digest of a file in an attached message; d itself for one of the message.
func (c carriage) digest(kind Kind, d Digest) Digest {
	if c != attachedPart {
		return d
	}
	return Sum(kind, c.marked(d[:]))
}

// ofFile is the carriage of a file: a message's own one stands beside its text.
func (l leaf) ofFile() carriage {
	if l.carried == attachedPart {
		return attachedPart
	}
	return ownPart
}

// imageSketches are an image's: of one in an attached message, a marked one for
// reports, and the plain one, which is only asked.
func (c carriage) imageSketches(plain Sketch) []Sketch {
	if c != attachedPart {
		return []Sketch{plain}
	}
	marked := Sketch{Kind: plain.Kind, Anchors: c.features(plain.Anchors), Keys: c.features(plain.Keys)}
	plain.AskOnly = true
	return []Sketch{marked, plain}
}

func (c carriage) features(plain []Feature) []Feature {
	marked := slices.Clone(plain)
	for i := range marked {
		marked[i].Hash = scramble(marked[i].Hash ^ uint64(c.mark()[0]))
	}
	return marked
}
