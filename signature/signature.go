package signature

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// ErrNoHeader is the error for a report of what is no message, such as a program.
var ErrNoHeader = errors.New("not an e-mail message: no header")

// Signature is one digest of a message.
type Signature struct {
	Kind   Kind
	Digest Digest
}

// ID returns the short name of a signature in headers and logs: its kind and the first 16
// hex digits of its digest.
func (s Signature) ID() string {
	return s.Kind.String() + ":" + hex.EncodeToString(s.Digest[:8])
}

// ParseID splits the ID of a signature into its kind and the first bytes of its digest.
func ParseID(id string) (kind Kind, digest [8]byte, err error) {
	name, digits, _ := strings.Cut(id, ":")
	if kind, err = ParseKind(name); err != nil {
		return kind, digest, fmt.Errorf("id %.40q: %w", id, err)
	}
	if len(digits) != hex.EncodedLen(len(digest)) {
		return kind, digest, fmt.Errorf("id %.40q: want KIND:16 hex digits", id)
	}
	if _, err := hex.Decode(digest[:], []byte(digits)); err != nil {
		return kind, digest, fmt.Errorf("id %.40q: %w", id, err)
	}
	return kind, digest, nil
}

// Set is the result of Compute for one message.
type Set struct {
	// Signatures are the report keys, without duplicates, strongest kind first. There are
	// none if the message has too little content to sign.
	Signatures []Signature
	// Counting is the signature under which the message is counted, if there is one.
	Counting []Signature
	// Sketches find near-duplicates: of the visible text, then of images. A message that
	// has some has a signature too, unless it is truncated.
	Sketches []Sketch
	// Domains are the registrable domains that the message links to, lower case, without
	// duplicates, at most 16, in order of first occurrence: of an HTML part, those in
	// tags, then those in the text. An IP address stands in brackets.
	Domains []string
	// Carried is how many of Domains, the last ones, are in text that the message
	// carries, or of links that nobody sees. No report lists them, as a sender could put
	// another's mail or address there, and no revocation takes them back. See ToReport.
	Carried int
	// NoHeader is set if the message has no header field that only a message has: it is
	// another sort of file. See Message.HasHeader.
	NoHeader bool
	// Limits are the limits that were reached. Content beyond them does not count.
	Limits Limits
}

// ToReport returns the part of s that a report of its message lists, and a revocation
// takes back: s without the domains of carried text and hidden links.
func (s Set) ToReport() Set {
	own := max(0, len(s.Domains)-s.Carried)
	s.Domains, s.Carried = s.Domains[:own:own], 0
	return s
}

// DomainSignature returns the signature of a link's registrable domain.
func DomainSignature(domain string) Signature {
	return Signature{KindDomain, Sum(KindDomain, []byte(domain))}
}
