package signature

import (
	"bytes"
	"strconv"
	"strings"

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
	open []element
	text []byte
}

type element struct {
	name atom.Atom
	look look
}

// appendVisible appends to dst the text of an HTML page that a reader sees.
// Block elements and line breaks become a newline. Scripts, styles, comments
// and elements hidden by an attribute of their own or of an outer element are
// left out; style sheets are not applied.
func appendVisible(dst, source []byte) []byte {
	p := page{text: dst}
	z := html.NewTokenizer(bytes.NewReader(source))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return p.text
		case html.TextToken:
			if p.look() == 0 {
				p.text = append(p.text, z.Text()...)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			p.start(z)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.end(atom.Lookup(name))
		}
	}
}

func (p *page) look() look {
	if len(p.open) == 0 {
		return 0
	}
	return p.open[len(p.open)-1].look
}

func (p *page) start(z *html.Tokenizer) {
	raw, hasAttr := z.TagName()
	name := atom.Lookup(raw)
	p.endImplied(name)
	if !inline[name] && name != 0 {
		p.text = append(p.text, '\n')
	}
	if void[name] {
		return
	}
	l := p.look()
	if unseen[name] {
		l |= gone
	}
	for hasAttr {
		var key, value []byte
		key, value, hasAttr = z.TagAttr()
		switch string(key) {
		case "hidden":
			l |= gone
		case "style":
			l = l.styled(string(value))
		}
	}
	if len(p.open) < maxOpen {
		p.open = append(p.open, element{name, l})
	}
}

// end closes the innermost open element of the name, and all inside it. An end
// tag that fits none is ignored, as browsers do.
func (p *page) end(name atom.Atom) {
	if !inline[name] && name != 0 {
		p.text = append(p.text, '\n')
	}
	for i := len(p.open) - 1; i >= 0; i-- {
		if p.open[i].name == name {
			p.open = p.open[:i]
			return
		}
	}
}

// endImplied closes what the start of an element closes without an end tag.
func (p *page) endImplied(name atom.Atom) {
	rule, ok := implied[name]
	if !ok {
		return
	}
	for i := len(p.open) - 1; i >= 0; i-- {
		open := p.open[i].name
		if contains(rule.ends, open) {
			p.open = p.open[:i]
			return
		}
		if contains(rule.within, open) {
			return
		}
	}
}

// endRule says that an element ends an open one of ends, with all inside it,
// unless one of within is open further in.
type endRule struct{ ends, within []atom.Atom }

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

func impliedEnds() map[atom.Atom]endRule {
	cell := endRule{[]atom.Atom{atom.Td, atom.Th}, []atom.Atom{atom.Table, atom.Tr}}
	term := endRule{[]atom.Atom{atom.Dt, atom.Dd}, []atom.Atom{atom.Dl}}
	m := map[atom.Atom]endRule{
		atom.Td: cell, atom.Th: cell,
		atom.Tr: {[]atom.Atom{atom.Tr}, []atom.Atom{atom.Table}},
		atom.Li: {[]atom.Atom{atom.Li}, []atom.Atom{atom.Ul, atom.Ol}},
		atom.Dt: term, atom.Dd: term,
	}
	paragraph := endRule{[]atom.Atom{atom.P}, []atom.Atom{atom.Table, atom.Td, atom.Th, atom.Button}}
	for _, name := range []atom.Atom{atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center,
		atom.Div, atom.Dl, atom.Fieldset, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4,
		atom.H5, atom.H6, atom.Header, atom.Hr, atom.Main, atom.Nav, atom.Ol, atom.P, atom.Pre,
		atom.Section, atom.Ul} {
		m[name] = paragraph
	}
	return m
}

func atoms(list ...atom.Atom) map[atom.Atom]bool {
	m := make(map[atom.Atom]bool, len(list))
	for _, a := range list {
		m[a] = true
	}
	return m
}

func contains(list []atom.Atom, a atom.Atom) bool {
	for _, x := range list {
		if x == a {
			return true
		}
	}
	return false
}

// styled is the look of an element with a style attribute inside an element of
// look l. A later declaration counts more than an earlier one.
func (l look) styled(style string) look {
	inherited := l
	style = strings.ToLower(style)
	for style != "" {
		var declaration string
		declaration, style, _ = strings.Cut(style, ";")
		property, value, _ := strings.Cut(declaration, ":")
		value, _, _ = strings.Cut(value, "!")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(property) {
		case "display":
			l = l&^gone | inherited&gone
			if value == "none" {
				l |= gone
			}
		case "visibility":
			l &^= invisible
			if value == "hidden" || value == "collapse" || value == "inherit" && inherited&invisible != 0 {
				l |= invisible
			}
		case "font-size":
			l = l&^tiny | fontSize(value, inherited)
		}
	}
	return l
}

// fontSize returns tiny for a size that is nothing: zero, or a share of zero.
func fontSize(value string, inherited look) look {
	end := strings.IndexFunc(value, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '+' })
	if end < 0 {
		end = len(value)
	}
	size, err := strconv.ParseFloat(value[:end], 64)
	switch unit := value[end:]; {
	case err == nil && size == 0:
		return tiny
	case err == nil && (unit == "em" || unit == "%" || unit == "ex"), value == "inherit", value == "smaller", value == "larger":
		return inherited & tiny
	}
	return 0
}
