package page

import "bytes"

// Rank is how likely the sender wants a reader to follow a link. The best rank is the
// lowest.
type Rank uint8

const (
	Clicked Rank = iota // a reference of a tag that is clicked; a URL in plain text
	InText              // a URL in the text of a page
	Bare                // a host name without a scheme
	Loaded              // pictures, styles, what stands in comments
)

// Reference is a piece of a page that may contain links, as it stands there.
type Reference struct {
	Value  []byte
	Rank   Rank
	IsText bool // Value is searched for links; otherwise it is one URL
	// IsPicture is set for the URL of a picture that is shown, and is not tiny.
	IsPicture bool
}

// linkAttribute reports whether an attribute is a URL, and the rank of the link.
func linkAttribute(name string) (r Rank, isURL bool) {
	switch name {
	case "href", "action", "formaction", "xlink:href":
		return Clicked, true
	case "src", "background", "data", "poster", "longdesc", "ping", "lowsrc", "dynsrc", "cite", "codebase", "archive":
		return Loaded, true
	}
	return 0, false
}

// refer records an attribute that may contain a link.
func (p *Reader) refer(m *markup, a attr, least Rank) {
	if a.end-a.start < 4 {
		return
	}
	value := m.source[a.start:a.end]
	switch r, isURL := linkAttribute(a.key); {
	case a.key == "href" && string(m.name) == "link":
		p.refs = append(p.refs, Reference{Value: value, Rank: Loaded})
	case isURL:
		isPicture := least == Clicked && !m.isTiny && (a.key == "src" && string(m.name) != "iframe" || a.key == "background")
		p.refs = append(p.refs, Reference{Value: value, Rank: max(r, least), IsPicture: isPicture})
	case a.key == "content":
		p.refs = append(p.refs, Reference{Value: value, Rank: max(Clicked, least), IsText: true})
	case a.key == "style" && bytes.IndexByte(value, '(') < 0: // nothing to load
	case a.key == "style", a.key == "srcset", a.key == eventAttribute:
		p.refs = append(p.refs, Reference{Value: value, Rank: Loaded, IsText: true})
	}
}
