package signature

// Limits are bounds that bit while a message was signed: what is beyond them was not
// looked at. A set of bits.
type Limits uint16

// The limits.
const (
	// LimitParts: the message has more than 50,000 messages, multiparts and parts.
	LimitParts Limits = 1 << iota
	// LimitDecoded: its text parts have more than 1 MiB, decoded.
	LimitDecoded
	// LimitText: its text has more than 64 KiB in version 1, or costs as much.
	LimitText
	// LimitText2: its text has more than 256 KiB in version 2.
	LimitText2
	// LimitOpenElements: its HTML lies more than 256 elements deep.
	LimitOpenElements
	// LimitStyleSheets: its HTML has more than 256 KiB of style sheets, or more than
	// 5,000 selectors.
	LimitStyleSheets
	// LimitAttachments: more than 16 attachments would sign.
	LimitAttachments
)

var limitNames = []string{"parts", "decoded", "text", "text2", "open-elements", "style-sheets", "attachments"}

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
