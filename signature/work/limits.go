package work

// Limits is a set of bounds that were reached while a message was signed. Content beyond
// a bound was not read. FORMAT.md lists what each of them costs the message.
type Limits uint32

// The limits of a message.
const (
	// LimitParts: more than 50,000 messages, multiparts and parts, or 4,096 text parts.
	LimitParts Limits = 1 << iota
	// LimitWrapped: encoded messages inside each other, more than four deep or together 2.2 times as long as
	// the whole, or a part that is read in so many ways, with what it contains, that these are together
	// more than four times as long.
	LimitWrapped
	// LimitReach: a text part more than 1 MiB behind the header.
	LimitReach
	// LimitDecoded: text parts of more than 1 MiB, decoded.
	LimitDecoded
	// LimitText: a text of more than 256 KiB.
	LimitText
	// LimitOpenElements: HTML more than 256 elements deep.
	LimitOpenElements
	// LimitStyleSheets: HTML with more than 256 KiB of style sheets, more than 5,000
	// selectors, or more than 64 classes on one element.
	LimitStyleSheets
	// LimitWords: more than 16,384 words to sketch.
	LimitWords
	// LimitGroups: a check of a sketch asks for more than 1,024 groups, or other sites have
	// stored too many of them. Their number depends on a site's key, so signing cannot set
	// this limit. The caller of Sketch.Asked compares the number with MaxAsked.
	LimitGroups
	// LimitAttachments: more than 16 attachments to sign.
	LimitAttachments
	// LimitContents: archives and PDFs that inflate to more than they may, or have more
	// than 2,000 members, or are in further readings longer than the part.
	LimitContents
	// LimitImages: more than four images to decode, more than two to sketch, more
	// pixels than the message may have, or images in further readings longer than the part.
	LimitImages
	// LimitLinks: more than 8,192 links, or links to more than 1,024 domains.
	LimitLinks
	// LimitDomains: links to more than 16 domains.
	LimitDomains
	// LimitWork: texts that cost more than 2^18 steps, and 24 for each byte.
	LimitWork
)

var limitNames = []string{"parts", "wrapped", "reach", "decoded", "text", "open-elements", "style-sheets",
	"words", "groups", "attachments", "contents", "images", "links", "domains", "work"}

// LimitNames returns the names of all limits, for metrics: lower case, in a fixed order.
func LimitNames() []string { return append([]string(nil), limitNames...) }

// Names returns the names of the limits in l.
func (l Limits) Names() []string {
	var names []string
	for i, name := range limitNames {
		if l&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
