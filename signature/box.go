package signature

import (
	"bytes"

	"golang.org/x/net/html/atom"
)

// box is what decides whether the text of an element is seen.
type box struct {
	look       look
	ink, paper int32 // colours
}

// root is the box of a page without a style.
var root = box{ink: 0x000000, paper: 0xFFFFFF}

func (p *page) box() box {
	if len(p.open) == 0 {
		return root
	}
	return p.open[len(p.open)-1].box
}

// boxOf is the box of an element, for which d is declared.
func (p *page) boxOf(name atom.Atom, d *declared, closed bool) box {
	if p.all {
		b := p.box()
		if noText[name] {
			b.look |= gone
		}
		return b
	}
	b := p.outside(name).inside(d)
	if unseen[name] && !(closed && isForeign(name)) {
		b.look |= gone
	}
	return b
}

// noText are elements whose text no program shows.
var noText = atoms(atom.Title, atom.Script, atom.Style, atom.Template)

// outside is the box in which an element stands. One of HTML ends a drawing or formula
// that is open around it (HTML Standard, section 13.2.6.5).
func (p *page) outside(name atom.Atom) box {
	if p.box().look&gone == 0 || !breaksOut[name] {
		return p.box()
	}
	switch {
	case p.foreign < 0:
		return p.box()
	case p.foreign == 0:
		return root
	}
	return p.open[p.foreign-1].box
}

// isForeign tells the elements with another language inside, which may close
// themselves.
func isForeign(name atom.Atom) bool { return name == atom.Svg || name == atom.Math }

var breaksOut = atoms(atom.B, atom.Big, atom.Blockquote, atom.Body, atom.Center, atom.Code, atom.Dd, atom.Div, atom.Dl, atom.Dt,
	atom.Em, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.I, atom.Li, atom.Menu, atom.Nobr, atom.Ol, atom.P, atom.Pre,
	atom.Ruby, atom.S, atom.Small, atom.Span, atom.Strong, atom.Strike, atom.Sub, atom.Sup, atom.Table, atom.Tt, atom.U, atom.Ul, atom.Var)

// isSeen tells whether text in b is seen: neither hidden, nor in the colour of
// what is behind it.
func (b box) isSeen() bool {
	if b.look != 0 || b.ink == transparent {
		return false
	}
	return b.ink < 0 || b.paper < 0 || !nearlyEqual(b.ink, b.paper)
}

// inside is the box of an element in b for which d is declared.
func (b box) inside(d *declared) box {
	if d.set == 0 {
		return b
	}
	value := func(p property, otherwise int32) int32 {
		if d.set&(1<<p) != 0 {
			return d.values[p]
		}
		return otherwise
	}
	boxIsNothing := value(overflow, 1) == 0 && value(extent, 1) == 0
	isOutside := value(indent, 1) == 0 || value(offset, 1) == 0 && value(movable, 0) == 1
	if value(display, 1) == 0 || value(opacity, 1) == 0 || isOutside || boxIsNothing {
		b.look |= gone
	}
	switch value(visibility, 2) {
	case 0:
		b.look |= invisible
	case 1:
		b.look &^= invisible
	}
	switch value(textSize, 2) {
	case 0:
		b.look |= tiny
	case 1:
		b.look &^= tiny
	}
	if c := value(ink, inheritedColour); c != inheritedColour {
		b.ink = c
	}
	if c := value(paper, transparent); c != transparent && c != inheritedColour {
		b.paper = c
	}
	return b
}

// breaks tells whether an element in b, for which d is declared, begins and ends a
// line: as CSS says, else by its name. What is not there breaks none.
func (b box) breaks(d *declared, name atom.Atom) bool {
	if b.look&gone != 0 {
		return false
	}
	if d.set&(1<<display) != 0 && d.values[display] != 1 {
		return d.values[display] == 3
	}
	return isBlock(name)
}

// attribute notes what an attribute of an element says: in d, in
// p.class, p.id and p.reversed. It tells whether the element is quoted by it.
func (p *page) attribute(name atom.Atom, key string, value []byte, d *declared) (quoted bool) {
	switch key {
	case "style":
		return name == atom.Blockquote && bytes.Contains(p.style, []byte("border-left"))
	case "class":
		p.class = appendLower(p.class[:0], value)
		return containsAny(p.class, quotedClasses)
	case "id":
		p.id = appendLower(p.id[:0], value)
		if p.rest < 0 && containsAny(p.id, beforeQuotes) {
			p.rest = len(p.text)
		}
		return containsAny(p.id, quotedIDs)
	case "type", "cite":
		return name == atom.Blockquote
	case "hidden":
		d.put(display, 0, false)
	case "bgcolor":
		d.put(paper, colourOf(string(bytes.ToLower(value))), false)
	case "background":
		d.put(paper, unknownColour, false)
	case "color":
		if name == atom.Font {
			d.put(ink, colourOf(string(bytes.ToLower(value))), false)
		}
	case "dir":
		p.reversed = name == atom.Bdo && bytes.EqualFold(value, []byte("rtl"))
	case "text":
		if name == atom.Body {
			d.put(ink, colourOf(string(bytes.ToLower(value))), false)
		}
	case "href":
		if name == atom.A {
			d.put(ink, linkColour, false)
		}
	}
	return false
}

// linkColour is what browsers give to links that have no colour.
const linkColour = 0x0000EE

// declare puts what style sheets and the style attribute say of an element over
// what its other attributes do.
func (p *page) declare(d *declared, name []byte) {
	p.path = append(p.path[:len(p.open)], p.named(name))
	p.sheets.apply(d, p.path)
	p.work.spend(stepsOfTag*len(p.markup.attrs) + 2*len(p.style))
	d.declare(cleanStyle(p.style))
}

// named is the element that is read, for selectors. Where some look at the elements
// around another, it is a copy.
func (p *page) named(name []byte) named {
	e := named{name, p.class, p.id}
	if p.sheets.count > 0 {
		e.class = e.class[:min(len(e.class), maxClassList)]
		e = named{bytes.Clone(e.name), bytes.Clone(e.class), bytes.Clone(e.id)}
	}
	return e
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
