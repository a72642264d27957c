package mail

// Carriage is how a message brings a part: as its body, or as something it carries.
//
// A spam may carry a newsletter, so that those who report the spam list the newsletter.
// Therefore a part that is carried signs with a mark. Its signatures match messages that
// carry the same part in the same way, and never a message that has it as its body. Text
// in a later part or an attached message is also asked for without the mark, so that a
// reported text is found in it (Sketch.AskOnly).
//
// Words that a text quotes are carried, too. They have their mark in sketches only.
//
// Files of the message itself are not carried in this sense. Readers open them, and spam
// often consists of a file only.
type Carriage uint8

const (
	OwnPart      Carriage = iota
	LaterPart             // not the first of parts that are shown one below the other
	AttachedPart          // of an attached message
	QuotedWords           // of another author, in a part of the message itself
)

// Mark returns what is hashed before all that is carried so. No text, list of digests or
// class of a part begins with it.
func (c Carriage) Mark() []byte { return markOfCarriage[c] }

var markOfCarriage = [...][]byte{OwnPart: nil, LaterPart: {1}, AttachedPart: {2}, QuotedWords: {3}}

// CarriedAsFile returns the carriage of a file: one of the message itself stands beside
// its text.
func (l Leaf) CarriedAsFile() Carriage {
	if l.Carried == AttachedPart {
		return AttachedPart
	}
	return OwnPart
}
