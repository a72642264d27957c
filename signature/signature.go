package signature

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Kind names how a signature was made. A kind carries its algorithm's version,
// so that two versions can live side by side while a federation moves over.
// The list is closed: a number is never used again.
type Kind uint8

// The kinds of today.
const (
	KindBody       Kind = 1 // every decoded part of the message, exactly
	KindAttachment Kind = 3 // one decoded attachment or image, exactly
	KindText       Kind = 4 // the visible text, normalised: look-alikes are folded
	KindSketch     Kind = 5 // a near-duplicate of the visible text: "at least t of b keys"
	KindImage      Kind = 6 // a near-duplicate of an image, likewise
	KindDomain     Kind = 7 // a link's registrable domain: corroborates, never lists alone
	KindContent    Kind = 8 // what an archive or PDF holds, however it is packed
)

var kindNames = map[Kind]string{
	KindBody: "body", KindText: "text", KindAttachment: "attachment",
	KindSketch: "sketch", KindImage: "image", KindDomain: "domain", KindContent: "content",
}

// String gives the kind's name as headers, logs and JSON show it.
func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("kind-%d", uint8(k))
}

// ParseKind is the inverse of String for the known kinds.
func ParseKind(name string) (Kind, error) {
	for k, n := range kindNames {
		if n == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("unknown signature kind %q", name)
}

// Signature is one digest of a message.
type Signature struct {
	Kind   Kind
	Digest Digest
}

// ID is the short name of a signature in headers and logs: its kind and the
// first 16 hex digits of its digest.
func (s Signature) ID() string {
	return s.Kind.String() + ":" + hex.EncodeToString(s.Digest[:8])
}

// Set is all that Compute found in one message.
type Set struct {
	// Signatures are the report keys, without duplicates, strongest kind first.
	// It is empty where the message has too little content to sign.
	Signatures []Signature
	// Counting are the one or two of them under which the message is counted.
	Counting []Signature
	// Sketches tell near-duplicates: of the visible text, then of images. A message
	// that has some has a signature too.
	Sketches []Sketch
	// Domains are the registrable domains that the message links to, lower case,
	// without duplicates, at most 16, in order of first occurrence: of an HTML part,
	// those in tags, then those in the text. An IP address stands in brackets.
	Domains []string
	// Carried is how many of Domains, the last ones, no report lists: the message has
	// them where its sender could put another's mail. See ToReport.
	Carried int
	// Limits are the bounds that bit: what is beyond them does not count.
	Limits Limits
}

// ToReport is the part of s that a report of its message lists: s without the domains
// that the message carries. A revocation takes back all of s.
func (s Set) ToReport() Set {
	own := max(0, len(s.Domains)-s.Carried)
	s.Domains, s.Carried = s.Domains[:own:own], 0
	return s
}

// Field is one header field as it stands in the message. Value may be folded
// (CRLF or LF, then a blank or tab) and may hold any bytes.
type Field struct{ Name, Value string }

// is tells whether the field has this name. Blanks may stand before its colon.
func (f Field) is(name string) bool {
	end := len(f.Name)
	for end > 0 && (f.Name[end-1] == ' ' || f.Name[end-1] == '\t') {
		end--
	}
	return strings.EqualFold(f.Name[:end], name)
}

// Message is a message as the milter or a mailbox hands it over: nothing in it
// is trusted to be well-formed.
type Message struct {
	Header    []Field // in the order of the message
	Body      []byte  // raw, after the empty line; CRLF or LF
	Truncated bool    // Body is only the beginning of the message's body
}
