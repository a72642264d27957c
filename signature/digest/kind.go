package digest

import "fmt"

// Kind names how a signature was made. A kind includes the version of its algorithm, so
// that two versions can be used side by side while a federation changes. A number is
// never used again.
type Kind uint8

// The kinds in use.
const (
	KindBody       Kind = 1  // every decoded part of the message, exactly
	KindAttachment Kind = 3  // one decoded attachment or image, exactly
	KindText       Kind = 4  // the visible text, normalised: look-alikes are folded
	KindSketch     Kind = 5  // a near-duplicate of the visible text: "at least t of b keys"
	KindImage      Kind = 6  // a near-duplicate of an image: "at least t of b keys"
	KindDomain     Kind = 7  // a link's registrable domain: supports other matches, never lists alone
	KindContent    Kind = 8  // the content of an archive or PDF, however it is packed
	KindShape      Kind = 9  // the structure of a page, joined by senders, words or paths: "at least t of b keys"
	KindPhrase     Kind = 10 // a few words with a link, exactly
)

var kindNames = map[Kind]string{
	KindBody: "body", KindText: "text", KindAttachment: "attachment",
	KindSketch: "sketch", KindImage: "image", KindDomain: "domain", KindContent: "content", KindShape: "shape", KindPhrase: "phrase",
}

// String returns the kind's name in headers, logs and JSON.
func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("kind-%d", uint8(k))
}

// IsOfMessage reports whether a signature of the kind identifies its message: that of the body or of the
// text. The signature of an attachment does not.
func (k Kind) IsOfMessage() bool { return k == KindBody || k == KindText }

// ParseKind is the inverse of String for the known kinds.
func ParseKind(name string) (Kind, error) {
	for k, n := range kindNames {
		if n == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("unknown signature kind %q", name)
}
