package work

// Limits are bounds that bit while a message was signed: what is beyond them was not
// looked at. A set of bits. FORMAT.md says what each costs the message.
type Limits uint32

// The limits.
const (
	// LimitParts: the message has more than 50,000 messages, multiparts and parts.
	LimitParts Limits = 1 << iota
	// LimitWrapped: encoded messages lie in each other more than four deep.
	LimitWrapped
	// LimitReach: a text part begins more than 1 MiB behind the header.
	LimitReach
	// LimitDecoded: its text parts have more than 1 MiB, decoded.
	LimitDecoded
	// LimitText: its text has more than 256 KiB.
	LimitText
	// LimitOpenElements: its HTML lies more than 256 elements deep.
	LimitOpenElements
	// LimitStyleSheets: its HTML has more than 256 KiB of style sheets, more than 5,000
	// selectors, or more than 16 classes on one element.
	LimitStyleSheets
	// LimitWords: more than 16,384 of its words would be sketched.
	LimitWords
	// LimitGroups: a check of its sketch would ask for more than 1,024 groups. How many
	// these are depends on a site's key, so that Compute does not know: whoever calls
	// Sketch.Asked tells by MaxAsked.
	LimitGroups
	// LimitAttachments: more than 16 attachments would sign.
	LimitAttachments
	// LimitContents: its archives and PDFs inflate to more than they may, or have more
	// than 2,000 members.
	LimitContents
	// LimitImages: more than four images would be looked at, more than two have a
	// sketch, or they cost more pixels than they may.
	LimitImages
	// LimitLinks: it has more than 8,192 links, or links to more than 1,024 domains.
	LimitLinks
	// LimitDomains: it links to more than 16 domains.
	LimitDomains
	// LimitWork: reading its texts costs more than 2^18 steps, and 24 for each byte.
	LimitWork
)

var limitNames = []string{"parts", "wrapped", "reach", "decoded", "text", "open-elements", "style-sheets",
	"words", "groups", "attachments", "contents", "images", "links", "domains", "work"}

// LimitNames are the names of all limits, for metrics: lower case, in a fixed order.
func LimitNames() []string { return append([]string(nil), limitNames...) }

// Names are the names of the limits in l.
func (l Limits) Names() []string {
	var names []string
	for i, name := range limitNames {
		if l&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
