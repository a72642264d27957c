package page

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

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
//
// A reference is hidden if no reader sees a link there: of a tag that is not clicked, of one
// that is plainly hidden or shows nothing, or not of a tag at all. Anyone can put the
// address of an innocent site there.
type Reference struct {
	Value    []byte
	Rank     Rank
	IsText   bool // Value is searched for links; otherwise it is one URL
	IsHidden bool
	IsQuoted bool // mail programs mark it as another author's
	// IsGone is set if the element is plainly hidden, whatever the colours and the size of text, and in scripts, style
	// sheets and comments.
	IsGone  bool
	IsSheet bool // Value is a style sheet
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
		p.addReference(value, Loaded, false)
	case isURL:
		p.addReference(value, max(r, least), false)
		p.refs[len(p.refs)-1].IsPicture = least == Clicked && !m.isTiny && (a.key == "src" && string(m.name) != "iframe" || a.key == "background")
	case a.key == "content":
		p.addReference(value, max(Clicked, least), true)
	case a.key == "style" && bytes.IndexByte(value, '(') < 0: // nothing to load
	case a.key == "style", a.key == "srcset", a.key == eventAttribute:
		p.addReference(value, Loaded, true)
	}
}

// addReference records a reference as hidden; see showReferences.
func (p *Reader) addReference(value []byte, r Rank, isText bool) {
	p.refs = append(p.refs, Reference{Value: value, Rank: r, IsText: isText, IsHidden: true, IsQuoted: p.quote >= 0 || p.rest >= 0})
}

// addUnshown records text that no reader sees.
func (p *Reader) addUnshown(text []byte) {
	p.addReference(text, Loaded, true)
	p.refs[len(p.refs)-1].IsGone = true
}

// isClicked reports whether a reader can click an element to follow its references.
func isClicked(name atom.Atom) bool {
	switch name {
	case atom.A, atom.Area, atom.Form, atom.Button:
		return true
	}
	return false
}

// showReferences records that readers see an element that is clicked.
func (p *Reader) showReferences(from, to int) {
	for i := from; i < to; i++ {
		if r := &p.refs[i]; r.Rank == Clicked && !r.IsText {
			r.IsHidden = false
		}
	}
}

// leave ends an element as far as its references are concerned: they are links if it
// showed anything.
func (p *Reader) leave(e *element) {
	if p.seen > e.seen {
		p.showReferences(e.firstRef, e.endRef)
	}
	e.endRef = e.firstRef
}

// leaveLink ends the open link where another one begins, as browsers do.
func (p *Reader) leaveLink() {
	for i := len(p.open) - 1; i >= 0; i-- {
		if p.open[i].name == atom.A {
			p.leave(&p.open[i])
			return
		}
	}
}

// isSeen reports whether text has a character that readers see.
func isSeen(text []byte) bool {
	for i, c := range text {
		if ' ' < c && c < 0x7F {
			return true
		}
		if c >= utf8.RuneSelf {
			return bytes.ContainsFunc(text[i:], func(r rune) bool { return !unicode.IsSpace(r) && unicode.IsGraphic(r) })
		}
	}
	return false
}
