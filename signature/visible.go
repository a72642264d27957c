package signature

import (
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxOpen bounds the open HTML elements that are followed. Deeper ones are
// taken to look like the one at the bound.
const maxOpen = 256

// look is what an element inherits that decides whether its text is seen.
type look uint8

const (
	gone      look = 1 << iota // display:none: nothing inside can undo it
	invisible                  // visibility:hidden
	tiny                       // font-size:0
)

// page follows the open elements of an HTML text, far enough to know what a
// reader sees. It builds no tree: it knows which elements end by themselves,
// not how a browser repairs the rest.
type page struct {
	markup markup
	open   []element
	text   []byte
	quotes []span // of it
	quote  int    // index in open of the outermost element that is quoted, or -1
	from   int    // where that begins in text
	rest   int    // where it is quoted from, up to the end, or -1
	sheets sheet
	path   []named // the open elements, for the sheets
	all    bool    // take in what is hidden, too
	limits Limits
	work   *work

	foreign int // index in open of the outermost drawing or formula, or -1

	// Of the element that is read, in lower case.
	style, class, id []byte
	declared         declared
	reversed         bool
}

type element struct {
	name     atom.Atom
	implied  implications
	box      box
	breaks   bool // it begins and ends a line
	reversed bool // its text goes from right to left, whatever it is
}

// read takes in an HTML page: the text that a reader sees. Block elements and line
// breaks become a newline; scripts, styles, comments and hidden elements are left out.
func (p *page) read(source []byte) {
	p.open, p.text, p.quotes, p.quote = p.open[:0], p.text[:0], p.quotes[:0], -1
	p.rest, p.foreign, p.sheets = -1, -1, readSheets(source, p.work)
	p.limits = 0
	p.work.spend(stepsOfPage)
	z := &p.markup
	z.begin(source)
	for {
		begin := z.pos
		token := z.next()
		if p.work.spend(stepsOfTag + (z.pos-begin)/2); p.work.isOver() {
			token = html.ErrorToken
		}
		switch token {
		case html.ErrorToken:
			p.truncate(0)
			if p.rest >= 0 {
				p.quotes = append(p.quotes, span{p.rest, len(p.text), byOther})
			}
			return
		case html.TextToken:
			p.show(z.shown())
		case html.StartTagToken, html.SelfClosingTagToken:
			p.start(z, token == html.SelfClosingTagToken)
		case html.EndTagToken:
			p.end(atom.Lookup(z.name))
		}
	}
}

// reset empties p, keeping of its buffers what keep returns.
func (p *page) reset(keep func([]byte) []byte) {
	p.text, p.sheets = keep(p.text), sheet{}
	p.style, p.class, p.id = keep(p.style), keep(p.class), keep(p.id)
	p.markup.reset(keep)
	if cap(p.quotes) > maxKept/16 {
		p.quotes = nil
	}
}

func (p *page) show(text []byte) {
	if p.box().isSeen() {
		p.text = append(p.text, text...)
	}
}

// isBlock tells the elements that part the words around them, where no style says
// otherwise.
func isBlock(name atom.Atom) bool { return !inline[name] && name != 0 }

// start opens an element, or not, where the tag closes itself and may.
func (p *page) start(z *markup, closed bool) {
	name := atom.Lookup(z.name)
	ends := implied[name]
	p.endImplied(ends)
	p.declared = declared{}
	d := &p.declared // calls through pointers would move it to the heap
	p.style, p.class, p.id = p.style[:0], p.class[:0], p.id[:0]
	quoted := false
	p.reversed = false
	for _, a := range z.attrs {
		value := z.value(a)
		if a.key == "style" {
			p.style = appendLower(p.style[:0], value)
		}
		quoted = p.attribute(name, a.key, value, d) || quoted
	}
	p.declare(d, z.name)
	breaks := p.box().breaks(d, name)
	if breaks {
		p.text = append(p.text, '\n')
	}
	if void[name] {
		return
	}
	b := p.boxOf(name, d, closed)
	if len(p.open) == maxOpen {
		p.limits |= LimitOpenElements
		return
	}
	if p.foreign < 0 && isForeign(name) {
		p.foreign = len(p.open)
	}
	p.open = append(p.open, element{name, ends, b, breaks, p.reversed})
	if p.reversed {
		p.text = utf8.AppendRune(p.text, rightToLeftOverride)
	}
	if quoted && p.quote < 0 {
		p.quote, p.from = len(p.open)-1, len(p.text)
	}
}

// end closes the innermost open element of the name, and all inside it. An end
// tag that fits none is ignored, as browsers do; two of them part words all the same.
func (p *page) end(name atom.Atom) {
	p.work.spend(len(p.open) / 8)
	for i := len(p.open) - 1; i >= 0; i-- {
		if p.open[i].name == name {
			if p.open[i].breaks {
				p.text = append(p.text, '\n')
			}
			p.truncate(i)
			return
		}
	}
	if name == atom.P || name == atom.Br {
		p.text = append(p.text, '\n')
	}
}

// truncate closes the elements from index i on.
func (p *page) truncate(i int) {
	if p.quote >= i {
		p.quotes = append(p.quotes, span{p.from, len(p.text), byOther})
		p.quote = -1
	}
	for _, e := range p.open[i:] {
		if e.reversed {
			p.text = utf8.AppendRune(p.text, popDirection)
		}
	}
	p.open = p.open[:i]
	if p.foreign >= i {
		p.foreign = -1
	}
}

// endImplied closes what the start of an element closes without an end tag.
func (p *page) endImplied(by implications) {
	if by.starts == 0 {
		return
	}
	p.work.spend(len(p.open) / 8)
	for i := len(p.open) - 1; i >= 0; i-- {
		switch open := p.open[i].implied; {
		case open.ended&by.starts != 0:
			p.truncate(i)
			return
		case open.kept&by.starts != 0:
			return
		}
	}
}

// implications are the rules by which elements end without an end tag, as bits: those
// that an element applies when it starts, those that end it, with all inside it, and
// those that end nothing around it.
type implications struct{ starts, ended, kept uint8 }

var (
	implied = impliedEnds()

	void = atoms(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input,
		atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr)

	// unseen elements show nothing of what is between their tags.
	unseen = atoms(atom.Title, atom.Script, atom.Style, atom.Template, atom.Iframe,
		atom.Noembed, atom.Noframes, atom.Object, atom.Svg, atom.Math, atom.Select, atom.Datalist,
		atom.Audio, atom.Video, atom.Canvas)

	// inline elements do not part the words around them.
	inline = atoms(atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite,
		atom.Code, atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I, atom.Img, atom.Ins, atom.Kbd,
		atom.Label, atom.Mark, atom.Nobr, atom.Q, atom.S, atom.Samp, atom.Script, atom.Small,
		atom.Span, atom.Strike, atom.Strong, atom.Style, atom.Sub, atom.Sup, atom.Time, atom.Tt,
		atom.U, atom.Var, atom.Wbr)
)

func impliedEnds() map[atom.Atom]implications {
	m := make(map[atom.Atom]implications)
	bit := uint8(1)
	add := func(starts, ended, kept []atom.Atom) {
		for i, names := range [][]atom.Atom{starts, ended, kept} {
			for _, name := range names {
				of := m[name]
				*[]*uint8{&of.starts, &of.ended, &of.kept}[i] |= bit
				m[name] = of
			}
		}
		bit <<= 1
	}
	type names = []atom.Atom
	add(names{atom.Td, atom.Th}, names{atom.Td, atom.Th}, names{atom.Table, atom.Tr})
	add(names{atom.Tr}, names{atom.Tr}, names{atom.Table})
	add(names{atom.Li}, names{atom.Li}, names{atom.Ul, atom.Ol})
	add(names{atom.Dt, atom.Dd}, names{atom.Dt, atom.Dd}, names{atom.Dl})
	add(names{atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center,
		atom.Div, atom.Dl, atom.Fieldset, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4,
		atom.H5, atom.H6, atom.Header, atom.Hr, atom.Main, atom.Nav, atom.Ol, atom.P, atom.Pre,
		atom.Section, atom.Ul}, names{atom.P}, names{atom.Table, atom.Td, atom.Th, atom.Button})
	return m
}

func atoms(list ...atom.Atom) map[atom.Atom]bool {
	m := make(map[atom.Atom]bool, len(list))
	for _, a := range list {
		m[a] = true
	}
	return m
}

// appendLower appends text to dst, ASCII in lower case.
func appendLower(dst, text []byte) []byte {
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}
