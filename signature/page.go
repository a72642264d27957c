package signature

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// maxOpen bounds the open HTML elements that are followed. Deeper ones are
// taken to look like the one at the bound.
const maxOpen = 256

// page reads HTML in one walk over its tokens: the text that some program could show,
// what of it is plainly hidden, what is quoted, and where it refers to. It builds no
// tree: it knows which elements end by themselves, not how a browser repairs the rest.
type page struct {
	markup markup
	open   []element
	sheet  sheet
	late   bool // a style sheet came after text that it may hide

	// The text and references of all pages of a message, and where the page begins that is
	// read; places in its text count from there.
	text            []byte
	refs            []reference
	start, firstRef int
	hidden          []span // what is plainly hidden
	quotes          []span // what mail programs mark as another's
	quote           int    // index in open of the outermost element that is quoted, or -1
	from            int    // where that begins
	rest            int    // where it is quoted from, up to the end, or -1

	limits Limits
	work   *work
	inner  markup // of comments

	// Of the element that is read, in lower case.
	style, class, id []byte
	reversed         bool
}

type element struct {
	name     atom.Atom
	traits   traits
	box      box
	breaks   bool // it begins and ends a line
	reversed bool // its text goes from right to left, whatever it is
}

// reference is a piece of a page, as it stands there, in which links are looked for.
type reference struct {
	value  []byte
	rank   rank
	isText bool // it is looked through; else it is one URL
}

// read takes in a page. A sheet of rules that stands behind the text is applied by
// reading it once more.
func (p *page) read(source []byte) {
	p.start, p.firstRef = len(p.text), len(p.refs)
	p.limits, p.late, p.sheet = 0, false, sheet{work: p.work}
	p.work.spend(stepsOfPage)
	p.walk(source)
	if p.late && !p.work.isOver() {
		p.sheet.isDone = true
		p.text = p.text[:p.start]
		p.walk(source)
	}
	p.limits |= p.sheet.limits
}

func (p *page) walk(source []byte) {
	p.open, p.hidden, p.quotes, p.quote, p.rest, p.refs = p.open[:0], nil, p.quotes[:0], -1, -1, p.refs[:p.firstRef]
	m := &p.markup
	m.begin(source)
	for {
		begin := m.pos
		token := m.next()
		if p.work.spend(stepsOfTag + (m.pos-begin)/2); p.work.isOver() {
			token = markupEnd
		}
		switch token {
		case markupEnd:
			p.truncate(0)
			if p.rest >= 0 {
				p.quotes = append(p.quotes, span{p.rest, p.length(), byOther})
			}
			return
		case markupText:
			p.showText(m)
		case markupStart:
			p.startElement(m)
		case markupFinish:
			p.endElement(atom.Lookup(m.name))
		case markupComment:
			p.comment(m.text)
		}
	}
}

// reset empties p for the next message, keeping of its buffers what keep returns.
func (p *page) reset(keep func([]byte) []byte) {
	p.text, p.sheet, p.hidden = keep(p.text), sheet{}, nil
	clear(p.refs)
	p.refs = p.refs[:0]
	if cap(p.refs) > maxKept/32 {
		p.refs = nil
	}
	p.style, p.class, p.id = keep(p.style), keep(p.class), keep(p.id)
	p.markup.reset(keep)
	p.inner.reset(keep)
	if cap(p.quotes) > maxKept/16 {
		p.quotes = nil
	}
}

// shown is the text of the page, and its references.
func (p *page) shown() ([]byte, []reference) {
	return p.text[p.start:len(p.text):len(p.text)], p.refs[p.firstRef:len(p.refs):len(p.refs)]
}

// length is how much text of this page there is.
func (p *page) length() int { return len(p.text) - p.start }

// put adds text.
func (p *page) put(text []byte, isHidden bool) {
	if isHidden && len(text) > 0 {
		at := p.length()
		if n := len(p.hidden); n > 0 && p.hidden[n-1].end == at {
			p.hidden[n-1].end += len(text)
		} else {
			p.hidden = append(p.hidden, span{at, at + len(text), byAuthor})
		}
	}
	p.text = append(p.text, text...)
}

var lineEnd = []byte("\n")

func (p *page) showText(m *markup) {
	switch m.inside {
	case "style":
		p.refs = append(p.refs, reference{m.text, loaded, true})
		if !p.sheet.isDone {
			rules := len(p.sheet.rules)
			p.sheet.read(m.text)
			p.late = p.late || len(p.sheet.rules) > rules && len(bytes.TrimSpace(p.text[p.start:])) > 0
		}
	case "script":
		p.refs = append(p.refs, reference{m.text, loaded, true})
	default:
		if b := p.box(); b.look&unshown == 0 {
			p.put(m.shown(), b.isHidden())
		}
	}
}

// comment notes the links of a comment, whose tags and text some programs show.
func (p *page) comment(text []byte) {
	if bytes.IndexByte(text, '.') < 0 || !bytes.HasPrefix(text, []byte("--")) {
		return
	}
	p.work.spend(len(text) / 2)
	m := &p.inner
	m.begin(text)
	for {
		begin := m.pos
		switch m.next() {
		case markupEnd:
			return
		case markupText:
			p.refs = append(p.refs, reference{m.text, loaded, true})
		case markupStart:
			for _, a := range m.attrs {
				p.refer(m, a, loaded)
			}
		}
		p.work.spend(stepsOfTag + (m.pos-begin)/2)
	}
}

// refer notes an attribute that may hold a link.
func (p *page) refer(m *markup, a attr, least rank) {
	if a.end-a.start < 4 {
		return
	}
	value := m.source[a.start:a.end]
	switch r, isURL := linkAttribute(a.key); {
	case a.key == "href" && string(m.name) == "link":
		p.refs = append(p.refs, reference{value, loaded, false})
	case isURL:
		p.refs = append(p.refs, reference{value, max(r, least), false})
	case a.key == "content":
		p.refs = append(p.refs, reference{value, max(clicked, least), true})
	case a.key == "style" && bytes.IndexByte(value, '(') < 0: // nothing to load
	case a.key == "style", a.key == "srcset", a.key == eventAttribute:
		p.refs = append(p.refs, reference{value, loaded, true})
	}
}

func (p *page) box() box {
	if len(p.open) == 0 {
		return box{paper: white}
	}
	return p.open[len(p.open)-1].box
}

// startElement opens an element, or not, where it has no end.
func (p *page) startElement(m *markup) {
	name := atom.Lookup(m.name)
	t := traitsOf[name]
	p.endImplied(t)
	p.style, p.class, p.id, p.reversed = p.style[:0], p.class[:0], p.id[:0], false
	var s style
	quoted := false
	for _, a := range m.attrs {
		p.refer(m, a, clicked)
		quoted = p.attribute(name, m, a, &s) || quoted
	}
	p.work.spend(stepsOfTag*len(m.attrs) + 2*len(p.style))
	p.sheet.apply(&s, m, p.class, p.id)
	if len(p.style) > 0 {
		s.read(cleanStyle(p.style))
	}
	b := p.box().inside(&s)
	isEmpty := t.void || m.closed && t.foreign
	if t.unseen && !isEmpty && (name != atom.Details || !s.isOpen) {
		b.look |= gone
	}
	if t.never {
		b.look |= unshown
	}
	breaks := s.breaks == inLines || s.breaks == asNamed && !t.inline && name != 0
	if breaks {
		p.put(lineEnd, b.look&gone != 0)
	}
	if isEmpty {
		return
	}
	if len(p.open) == maxOpen {
		p.limits |= LimitOpenElements
		return
	}
	p.open = append(p.open, element{name, t, b, breaks, p.reversed})
	if p.reversed {
		p.put([]byte(string(rightToLeftOverride)), b.isHidden())
	}
	if quoted && p.quote < 0 {
		p.quote, p.from = len(p.open)-1, p.length()
	}
}

// endElement closes the innermost open element of the name, and all inside it. An end
// tag that fits none is ignored, as browsers do; two of them part words all the same.
func (p *page) endElement(name atom.Atom) {
	p.work.spend(len(p.open) / 8)
	for i := len(p.open) - 1; i >= 0; i-- {
		if e := &p.open[i]; e.name == name {
			if e.breaks {
				p.put(lineEnd, e.box.look&gone != 0)
			}
			p.truncate(i)
			return
		}
	}
	if name == atom.P || name == atom.Br {
		p.put(lineEnd, p.box().look&gone != 0)
	}
}

// truncate closes the elements from index i on.
func (p *page) truncate(i int) {
	if p.quote >= i {
		p.quotes = append(p.quotes, span{p.from, p.length(), byOther})
		p.quote = -1
	}
	for _, e := range p.open[i:] {
		if e.reversed {
			p.text = utf8.AppendRune(p.text, popDirection)
		}
	}
	p.open = p.open[:i]
}

// endImplied closes what the start of an element closes without an end tag.
func (p *page) endImplied(by traits) {
	if by.starts == 0 {
		return
	}
	p.work.spend(len(p.open) / 8)
	for i := len(p.open) - 1; i >= 0; i-- {
		switch open := p.open[i].traits; {
		case open.ended&by.starts != 0:
			p.truncate(i)
			return
		case open.kept&by.starts != 0:
			return
		}
	}
}

// attribute notes what an attribute of an element says: in s, p.style, p.class, p.id
// and p.reversed. It tells whether the element is quoted by it.
func (p *page) attribute(name atom.Atom, m *markup, a attr, s *style) (quoted bool) {
	switch a.key {
	case "style":
		p.style = appendLower(p.style[:0], m.value(a))
		return name == atom.Blockquote && bytes.Contains(p.style, []byte("border-left"))
	case "class":
		p.class = appendLower(p.class[:0], m.value(a))
		return containsAny(p.class, quotedClasses)
	case "id":
		p.id = appendLower(p.id[:0], m.value(a))
		if p.rest < 0 && containsAny(p.id, beforeQuotes) {
			p.rest = p.length()
		}
		return containsAny(p.id, quotedIDs)
	case "type", "cite":
		return name == atom.Blockquote
	case "hidden":
		s.hides = true
	case "open":
		s.isOpen = true
	case "bgcolor":
		s.setPaper(colourOf(bytes.ToLower(m.value(a))))
	case "background":
		s.setPaper(unknownColour)
	case "color", "text":
		if name == atom.Font || name == atom.Body {
			s.setInk(colourOf(bytes.ToLower(m.value(a))))
		}
	case "dir":
		p.reversed = name == atom.Bdo && bytes.EqualFold(m.value(a), []byte("rtl"))
	case "href":
		if name == atom.A {
			s.setInk(linkColour)
		}
	}
	return false
}

// Classes and ids by which mail programs mark what they quote, and signatures.
var (
	quotedClasses = [][]byte{[]byte("gmail_quote"), []byte("gmail_attr"), []byte("yahoo_quoted"), []byte("moz-cite-prefix"),
		[]byte("moz-signature"), []byte("gmail_signature"), []byte("protonmail_quote"), []byte("protonmail_signature")}
	quotedIDs = [][]byte{[]byte("yahoo_quoted"), []byte("mail-editor-reference-message"), []byte("reply-intro"), []byte("olk_src_body_section")}
	// beforeQuotes stand before what is quoted, which follows up to the end.
	beforeQuotes = [][]byte{[]byte("divrplyfwdmsg"), []byte("appendonsend")}
)

func containsAny(text []byte, words [][]byte) bool {
	for _, word := range words {
		if bytes.Contains(text, word) {
			return true
		}
	}
	return false
}
