package signature

import (
	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/links"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/sketch"
	"github.com/spambloom/spambloom/signature/work"
)

// Types of the packages below that are part of what Compute reads and returns.
type (
	// Message is a message as the milter or a mailbox provides it.
	Message = mail.Message
	// Field is one header field of a Message.
	Field = mail.Field
	// HeaderRoom says how much of what is kept of a message its header may take.
	HeaderRoom = mail.HeaderRoom
	// Feedback is a complaint about a message in the Abuse Reporting Format.
	Feedback = mail.Feedback

	// Kind names how a signature was made.
	Kind = digest.Kind
	// Digest is a SHA-256 digest.
	Digest = digest.Digest
	// Keyed makes HMAC-SHA-256 digests under one key.
	Keyed = digest.Keyed

	// Sketch finds near-duplicates of a text or an image.
	Sketch = sketch.Sketch
	// Feature is one feature of a Sketch.
	Feature = sketch.Feature
	// Group is an anchor and the keys that are stored, or asked, with it.
	Group = sketch.Group

	// Limits is a set of limits that were reached while a message was signed.
	Limits = work.Limits
)

// The kinds of signatures and sketches.
const (
	KindBody       = digest.KindBody
	KindAttachment = digest.KindAttachment
	KindText       = digest.KindText
	KindSketch     = digest.KindSketch
	KindImage      = digest.KindImage
	KindDomain     = digest.KindDomain
	KindContent    = digest.KindContent
	KindShape      = digest.KindShape
	KindPhrase     = digest.KindPhrase
)

const (
	// StoredAnchors is the number of the groups of Sketch.Reported that are stored.
	StoredAnchors = sketch.StoredAnchors
	// MaxAsked bounds the groups that Sketch.Asked returns.
	MaxAsked = sketch.MaxAsked
	// ByWords is Group.By if words and paths join the structure of a page.
	ByWords = sketch.ByWords
	// LimitGroups is the limit that a caller of Sketch.Asked adds if there are MaxAsked groups.
	LimitGroups = work.LimitGroups
	// FieldOverhead is charged for each header field in addition to its bytes.
	FieldOverhead = mail.FieldOverhead
)

// Parse splits a raw message (RFC 5322) into header fields and body. It never fails:
// whatever is no header is body. Body is a part of raw, not a copy.
func Parse(raw []byte) Message { return mail.Parse(raw) }

// ParseWithin is Parse within a bound of memory. See mail.ParseWithin.
func ParseWithin(raw []byte, most int64) (m Message, isCut bool) { return mail.ParseWithin(raw, most) }

// EachField calls add for each field of a header, and returns the body. See mail.EachField.
func EachField(raw []byte, add func(Field)) (body []byte) { return mail.EachField(raw, add) }

// Behind returns what follows in raw after a copy of a header. See mail.Behind.
func Behind(raw []byte, header []Field, isPart bool) (body []byte, ok bool) {
	return mail.Behind(raw, header, isPart)
}

// Boundaries returns the boundaries that separate the parts of a message. See mail.Boundaries.
func Boundaries(header []Field) []string { return mail.Boundaries(header) }

// Attached returns the messages attached to m as message/rfc822, as mail programs forward
// them. See mail.Attached.
func Attached(m Message) []Message { return mail.Attached(m) }

// EachText visits the texts of m, without those of attached messages. See mail.EachText.
func EachText(m Message, visit func(mediaType string, text []byte)) { mail.EachText(m, visit) }

// AsFeedback reads m as a feedback report; ok is false if it is none.
func AsFeedback(m Message) (f Feedback, ok bool) { return mail.AsFeedback(m) }

// ParseKind is the inverse of Kind.String for the known kinds.
func ParseKind(name string) (Kind, error) { return digest.ParseKind(name) }

// Sum returns the digest of content under a kind.
func Sum(kind Kind, content []byte) Digest { return digest.Sum(kind, content) }

// NewKeyed returns a Keyed for key, which should have 32 random bytes.
func NewKeyed(key []byte) *Keyed { return digest.NewKeyed(key) }

// MaxFeatures returns the largest numbers of anchors and keys of a sketch of a kind.
func MaxFeatures(kind Kind) (anchors, keys int) { return sketch.MaxFeatures(kind) }

// LimitNames returns the names of all limits, for metrics: lower case, in a fixed order.
func LimitNames() []string { return work.LimitNames() }

// IsDomain reports whether d has the form of the domains of a Set: a registrable domain in
// ASCII form, or an IP address of a public network in brackets.
func IsDomain(d string) bool { return links.IsDomain(d) }

// WellKnown reports whether a registrable domain belongs to a large sender, a mail service,
// a shortener or the like. A link to it is no evidence against a message.
func WellKnown(domain string) bool { return links.WellKnown(domain) }
