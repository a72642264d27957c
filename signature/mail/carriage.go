package mail

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
type Carriage uint8

const (
	OwnPart      Carriage = iota
	LaterPart             // not the first of parts that are shown one below the other
	AttachedPart          // of an attached message
)

// mark is what is hashed before all that is carried so. No text, list of digests or
// class of a part begins like it.
func (c Carriage) Mark() []byte { return markOfCarriage[c] }

var markOfCarriage = [...][]byte{OwnPart: nil, LaterPart: {1}, AttachedPart: {2}}

// ofFile is the carriage of a file: a message's own one stands beside its text.
func (l Leaf) CarriedAsFile() Carriage {
	if l.Carried == AttachedPart {
		return AttachedPart
	}
	return OwnPart
}
