package page

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/page/colour"
	"github.com/spambloom/spambloom/signature/page/css"
	"github.com/spambloom/spambloom/signature/skeleton"
	"github.com/spambloom/spambloom/signature/span"
	"github.com/spambloom/spambloom/signature/work"
)

// maxOpen bounds the open HTML elements that are followed. Deeper ones look like the one
// at the bound.
const maxOpen = 256

// Reader reads HTML in one pass over its tokens: the text that some program could show,
// what of it is plainly hidden or quoted, and its references. It builds no tree. It closes
// the elements that end by themselves, and repairs nothing else as a browser would. It is
// used by one goroutine at a time.
type Reader struct {
	markup markup
	open   []element
	sheet  sheet
	isLate bool // a style sheet stands behind text that it may hide
	blank  int  // length of the beginning of this page's text that is known to be blank

	// The text and references of all pages of a message, and where those of the latest
	// page begin. Places in its text are counted from there.
	text            []byte
	refs            []Reference
	start, firstRef int
	hidden          []span.Span // what is plainly hidden
	quotes          []span.Span // marked by mail programs as another author's
	quote           int         // index in open of the outermost element that is quoted, or -1
	from            int         // where that begins in the text
	rest            int         // where quoted text begins that extends to the end, or -1
	seen            int         // texts and pictures so far that readers see

	skeleton skeleton.Collector
	labels   []byte // texts that stand for pictures, and on buttons

	// generated is text that stands in style sheets and attributes. Some programs show it.
	generated []byte

	limits work.Limits
	Work   *work.Steps
	inner  markup // of comments

	// Of the element that is read, in lower case.
	style, class, id []byte
	isReversed       bool
}

const (
	// maxLabels is the length, in bytes, from which on no further labels are kept.
	maxLabels = 1000
	// leastGenerated and maxGenerated bound the generated text of a page, in bytes. Less is too little
	// to sign.
	leastGenerated, maxGenerated = 96, 64 << 10
	// maxGreeting is the length, in bytes, of shown text that says nothing beside generated text.
	maxGreeting = 12
)

type element struct {
	name       atom.Atom
	traits     traits
	box        box
	isBlock    bool // it begins and ends a line
	isReversed bool // its text is written from right to left, whatever it is
	isInTable  bool // it is a table, or inside one

	firstRef, endRef int // its references, while it is not known whether it shows anything
	seen             int // Reader.seen where it begins
}

// Shown is what a page shows. Its text and references are valid until Reset, its quotes
// until the next Read.
type Shown struct {
	Text       []byte // that some program could show
	References []Reference
	Hidden     []span.Span // stretches of Text that are plainly hidden
	Quotes     []span.Span // stretches of Text that mail programs mark as another author's
	Skeleton   skeleton.Skeleton
	Labels     []byte      // texts that stand for pictures, and on buttons, a line each
	Limits     work.Limits // that were reached
}

// Read reads a page. If a style sheet stands behind text that it may hide, it is applied
// by reading the page once more.
func (p *Reader) Read(source []byte) Shown {
	p.start, p.firstRef = len(p.text), len(p.refs)
	p.limits, p.isLate, p.blank, p.sheet, p.labels, p.generated = 0, false, 0, sheet{work: p.Work}, nil, nil
	p.Work.Spend(work.PerPage)
	p.walk(source)
	if p.isLate && !p.Work.IsOver() {
		p.sheet.isDone = true
		p.text = p.text[:p.start]
		p.walk(source)
	}
	if p.limits|p.sheet.limits != 0 && p.length() > 0 { // what hides it may be beyond the limit
		p.hidden = []span.Span{{Start: 0, End: p.length(), By: span.ByAuthor}}
	}
	if len(p.generated) >= leastGenerated && len(bytes.TrimSpace(span.Without(p.hidden, p.text[p.start:]))) <= maxGreeting {
		p.Work.Spend(p.length() + len(p.generated))
		p.put(lineEnd, true)
		p.put(p.generated, true) // perhaps nothing shows it, and it is another author's
	}
	return Shown{
		Text: p.text[p.start:len(p.text):len(p.text)], References: p.refs[p.firstRef:len(p.refs):len(p.refs)],
		Hidden: p.hidden, Quotes: p.quotes, Skeleton: p.skeleton.Skeleton(p.Work),
		Labels: p.labels, Limits: p.limits | p.sheet.limits,
	}
}

// generate keeps a generated text, in the first pass.
func (p *Reader) generate(text []byte) {
	if room := maxGenerated - len(p.generated); !p.sheet.isDone && len(text) > 0 && room > 0 {
		p.generated = append(append(p.generated, text[:min(len(text), room)]...), '\n')
	}
}

func (p *Reader) walk(source []byte) {
	p.open, p.hidden, p.quotes, p.quote, p.rest, p.refs = p.open[:0], nil, p.quotes[:0], -1, -1, p.refs[:p.firstRef]
	p.skeleton.Restart()
	p.seen = 0
	m := &p.markup
	m.begin(source)
	for {
		begin := m.pos
		token := m.next()
		if p.Work.Spend(work.PerTag + (m.pos-begin)/2); p.Work.IsOver() {
			token = markupEnd
		}
		switch token {
		case markupEnd:
			p.truncate(0)
			if p.rest >= 0 {
				p.quotes = append(p.quotes, span.Span{Start: p.rest, End: p.length(), By: span.ByOther})
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

// Reset empties p for the next message. It keeps buffers that are not too large.
func (p *Reader) Reset() {
	p.text, p.sheet, p.hidden = work.Keep(p.text), sheet{}, nil
	clear(p.refs)
	p.refs = p.refs[:0]
	if cap(p.refs) > work.MaxKept/32 {
		p.refs = nil
	}
	p.style, p.class, p.id = work.Keep(p.style), work.Keep(p.class), work.Keep(p.id)
	p.markup.reset()
	p.inner.reset()
	if cap(p.quotes) > work.MaxKept/16 {
		p.quotes = nil
	}
}

// length returns the length of this page's text.
func (p *Reader) length() int { return len(p.text) - p.start }

// put adds text.
func (p *Reader) put(text []byte, isHidden bool) {
	if isHidden && len(text) > 0 {
		at := p.length()
		if n := len(p.hidden); n > 0 && p.hidden[n-1].End == at {
			p.hidden[n-1].End += len(text)
		} else {
			p.hidden = append(p.hidden, span.Span{Start: at, End: at + len(text), By: span.ByAuthor})
		}
	}
	p.text = append(p.text, text...)
}

var lineEnd = []byte("\n")

func (p *Reader) showText(m *markup) {
	switch m.rawElement {
	case "style":
		p.addUnshown(m.text)
		p.refs[len(p.refs)-1].IsSheet = true
		p.readSheet(m.text)
		if bytes.IndexByte(m.text, '&') >= 0 { // inside a drawing, entities are decoded
			p.readSheet([]byte(unescape(string(m.text))))
		}
	case "script":
		p.addUnshown(m.text)
	default:
		if b := p.box(); b.look&unshown == 0 {
			text, isHidden := m.shown(), b.isHidden()
			p.put(text, isHidden)
			if !isHidden && isSeen(text) {
				p.seen++
			}
		}
	}
}

// readSheet reads a style sheet in the first pass.
func (p *Reader) readSheet(text []byte) {
	if p.sheet.isDone || len(text) == 0 {
		return
	}
	rules, frames := len(p.sheet.rules), len(p.sheet.frames)
	p.sheet.read(text)
	p.generate(p.sheet.generated)
	p.isLate = p.isLate || (len(p.sheet.rules) > rules || len(p.sheet.frames) > frames) && p.hasText()
}

// hasText reports whether this page has text so far, until it has for the first time. It reads
// blanks once, however many style sheets ask.
func (p *Reader) hasText() bool {
	if len(bytes.TrimSpace(p.text[p.start+p.blank:])) > 0 {
		return true
	}
	p.blank = p.length()
	return false
}

// comment records the links of a comment, as some programs show its tags and text.
func (p *Reader) comment(text []byte) {
	if bytes.IndexByte(text, '.') < 0 || !bytes.HasPrefix(text, []byte("--")) {
		return
	}
	p.Work.Spend(len(text) / 2)
	m := &p.inner
	m.begin(text)
	for {
		begin := m.pos
		switch m.next() {
		case markupEnd:
			return
		case markupText:
			p.addUnshown(m.text)
		case markupStart:
			for _, a := range m.attrs {
				first := len(p.refs)
				if p.refer(m, a, Loaded); len(p.refs) > first {
					p.refs[first].IsGone = true
				}
			}
		}
		p.Work.Spend(work.PerTag + (m.pos-begin)/2)
	}
}

func (p *Reader) box() box {
	if len(p.open) == 0 {
		return window
	}
	return p.open[len(p.open)-1].box
}

// isInTable reports whether the next element is inside a table.
func (p *Reader) isInTable() bool { return len(p.open) > 0 && p.open[len(p.open)-1].isInTable }

// startElement opens an element, unless it has no end.
func (p *Reader) startElement(m *markup) {
	name := atom.Lookup(m.name)
	p.skeleton.Add(m.name, m.layout)
	t := traitsOf[name]
	p.endImplied(t)
	p.style, p.class, p.id, p.isReversed = p.style[:0], p.class[:0], p.id[:0], false
	s := style{font: fontOf[name]}
	quoted, firstRef, labels := false, len(p.refs), len(p.labels)
	for _, a := range m.attrs {
		p.refer(m, a, Clicked)
		quoted = p.attribute(name, m, a, &s) || quoted
	}
	p.Work.Spend(work.PerTag*len(m.attrs) + 2*len(p.style))
	b := p.boxOf(name, &s)
	isEmpty := t.isVoid || m.isClosed && t.isForeign
	if t.isUnseen && !isEmpty && (name != atom.Details || !s.isOpen) {
		b.look |= gone
	}
	if t.isNeverShown {
		b.look |= unshown
	}
	if b.look&hides != 0 && (name != atom.Img || b.look&hides != masked) { // pictures are seen beside tiny text
		p.labels = p.labels[:labels]
		for i := range p.refs[firstRef:] {
			p.refs[firstRef+i].IsGone = true
		}
	}
	isIgnored := t.isDocument || t.isTablePart && !p.isInTable()
	breaks := !isIgnored && (s.breaks == inLines || s.breaks == asNamed && t.isBlock)
	if breaks {
		p.put(lineEnd, b.look&(gone|masked) != 0)
	}
	endRef := len(p.refs)
	if !isClicked(name) {
		endRef = firstRef
	}
	e := element{name: name, traits: t, box: b, isBlock: breaks, isReversed: p.isReversed,
		isInTable: name == atom.Table || p.isInTable(), firstRef: firstRef, endRef: endRef, seen: p.seen}
	if isEmpty {
		p.showEmpty(&e)
	} else {
		p.openElement(e, quoted)
	}
}

// boxOf returns the box of an element, with what its sheets and its attribute style add to s.
func (p *Reader) boxOf(name atom.Atom, s *style) box {
	p.sheet.apply(s, &p.markup, p.class, p.id)
	if len(p.style) > 0 {
		s.read(css.Clean(p.style))
	}
	p.isReversed = p.isReversed || s.isRightToLeft && s.isOverride
	s.setNature(name, p.markup.isTiny)
	b := p.box().inside(s)
	if s.isAnimated && !b.isHidden() {
		b = p.sheet.animate(p.box(), b, s)
	}
	if name == atom.Html {
		b.root = b.font
	}
	if name == atom.Html || name == atom.Body { // its window clips nothing
		b.look = b.look&^clipped | p.box().look&clipped
	}
	return b
}

// showEmpty reads an element without an end: readers see a picture, and an area of one.
func (p *Reader) showEmpty(e *element) {
	if (e.name == atom.Img || e.endRef > e.firstRef) && !e.box.isHidden() {
		p.seen++
		p.showReferences(e.firstRef, e.endRef)
	}
}

// openElement opens an element, which is quoted or not.
func (p *Reader) openElement(e element, quoted bool) {
	if len(p.open) == maxOpen {
		p.limits |= work.LimitOpenElements
		return
	}
	if e.name == atom.A {
		p.Work.Spend(len(p.open) / 8)
		p.leaveLink()
	}
	p.open = append(p.open, e)
	if e.isReversed {
		p.put([]byte(string(rightToLeftOverride)), e.box.isHidden())
	}
	if quoted && p.quote < 0 {
		p.quote, p.from = len(p.open)-1, p.length()
	}
}

// endElement closes the innermost open element of the name, and all inside it. An end tag
// that fits none is ignored, as browsers do, but two of them separate words.
func (p *Reader) endElement(name atom.Atom) {
	p.Work.Spend(len(p.open) / 8)
	for i := len(p.open) - 1; i >= 0; i-- {
		if e := &p.open[i]; e.name == name {
			if e.isBlock {
				p.put(lineEnd, e.box.look&(gone|masked) != 0)
			}
			p.truncate(i)
			return
		}
	}
	if name == atom.P || name == atom.Br {
		p.put(lineEnd, p.box().look&(gone|masked) != 0)
	}
}

// truncate closes the elements from index i on.
func (p *Reader) truncate(i int) {
	if p.quote >= i {
		p.quotes = append(p.quotes, span.Span{Start: p.from, End: p.length(), By: span.ByOther})
		p.quote = -1
	}
	for at := range p.open[i:] {
		e := &p.open[i+at]
		if p.leave(e); e.isReversed {
			p.text = utf8.AppendRune(p.text, popDirection)
		}
	}
	p.open = p.open[:i]
}

// endImplied closes the elements that end without an end tag where another one starts.
func (p *Reader) endImplied(by traits) {
	if by.starts == 0 {
		return
	}
	p.Work.Spend(len(p.open) / 8)
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

// attribute records an attribute of an element in s, p.style, p.class, p.id and
// p.isReversed. It reports whether the element is quoted by it.
func (p *Reader) attribute(name atom.Atom, m *markup, a attr, s *style) (quoted bool) {
	switch a.key {
	case "style":
		p.style = ascii.AppendLower(p.style[:0], m.value(a))
		return name == atom.Blockquote && bytes.Contains(p.style, []byte("border-left"))
	case "class":
		p.class = ascii.AppendLower(p.class[:0], m.value(a))
		return ascii.ContainsAny(p.class, quotedClasses)
	case "id":
		p.id = ascii.AppendLower(p.id[:0], m.value(a))
		if p.rest < 0 && ascii.ContainsAny(p.id, beforeQuotes) {
			p.rest = p.length()
		}
		return ascii.ContainsAny(p.id, quotedIDs)
	case "type", "cite":
		return name == atom.Blockquote
	case "label", "srcdoc":
		p.generate(m.value(a))
	case "alt", "value", "placeholder":
		if p.sheet.isDone || len(p.labels) > maxLabels {
			break
		}
		p.labels = append(append(p.labels, m.value(a)...), '\n')
	case "hidden", "popover":
		s.isGone = true
	case "open":
		s.isOpen = true
	case "bgcolor":
		s.setPaper(colour.OfAttribute(bytes.ToLower(m.value(a))))
	case "background":
		s.setPaper(colour.Unknown)
	case "color", "text":
		if name == atom.Font || name == atom.Body {
			s.setInk(colour.OfAttribute(bytes.ToLower(m.value(a))))
		}
	case "dir":
		p.isReversed = name == atom.Bdo && bytes.EqualFold(m.value(a), []byte("rtl"))
	case "href":
		switch name {
		case atom.A:
			s.setInk(colour.Link)
		case atom.Link:
			p.readSheet(css.OfURL(m.value(a)))
		}
	}
	return false
}

// The classes and ids by which mail programs mark quotes and signatures.
var (
	quotedClasses = [][]byte{[]byte("gmail_quote"), []byte("gmail_attr"), []byte("yahoo_quoted"), []byte("moz-cite-prefix"),
		[]byte("moz-signature"), []byte("gmail_signature"), []byte("protonmail_quote"), []byte("protonmail_signature")}
	quotedIDs = [][]byte{[]byte("yahoo_quoted"), []byte("mail-editor-reference-message"), []byte("reply-intro"), []byte("olk_src_body_section")}
	// beforeQuotes stand before a quote that extends to the end.
	beforeQuotes = [][]byte{[]byte("divrplyfwdmsg"), []byte("appendonsend")}
)

// Is reports whether text that is declared as plain text is an HTML page.
func Is(text []byte) bool {
	text = bytes.TrimLeft(text[:min(len(text), 512)], " \t\r\n\ufeff")
	for _, begin := range []string{"<!doctype html", "<html"} {
		if len(text) > len(begin) && bytes.EqualFold(text[:len(begin)], []byte(begin)) {
			return true
		}
	}
	return false
}
