package page

import "golang.org/x/net/html/atom"

// traits are the properties of an element's name. The bits are rules by which elements
// end without an end tag: rules that an element applies when it starts, rules that end it
// with all inside it, and rules that end nothing around it.
type traits struct {
	starts, ended, kept uint8
	isVoid              bool // it has no end
	isBlock             bool // it separates the words around it
	isDocument          bool // browsers ignore it within text
	isTablePart         bool // browsers ignore it outside a table
	isUnseen            bool // most programs show nothing between its tags
	isNeverShown        bool // no program does
	isForeign           bool // it contains another language, and may close itself
}

var traitsOf = allTraits()

// blocks are the elements that separate words.
var blocks = []atom.Atom{atom.Address, atom.Article, atom.Aside, atom.Audio, atom.Blockquote, atom.Br,
	atom.Button, atom.Canvas, atom.Caption, atom.Center, atom.Datalist, atom.Dd, atom.Details, atom.Dialog, atom.Dir,
	atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2,
	atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Iframe, atom.Input, atom.Legend, atom.Li,
	atom.Listing, atom.Main, atom.Marquee, atom.Math, atom.Menu, atom.Menuitem, atom.Meter, atom.Nav, atom.Noembed,
	atom.Noframes, atom.Object, atom.Ol, atom.Optgroup, atom.Option, atom.P, atom.Plaintext, atom.Pre, atom.Progress,
	atom.Section, atom.Select, atom.Summary, atom.Svg, atom.Table, atom.Tbody, atom.Td, atom.Template, atom.Textarea,
	atom.Tfoot, atom.Th, atom.Thead, atom.Title, atom.Tr, atom.Ul, atom.Video, atom.Xmp}

// fontOf has the elements whose text is smaller than that around them.
var fontOf = map[atom.Atom]size{atom.Small: {smaller, ofOuter}, atom.Sub: {smaller, ofOuter}, atom.Sup: {smaller, ofOuter},
	atom.H5: {smaller, ofOuter}, atom.H6: {smaller * smaller, ofOuter}}

func allTraits() map[atom.Atom]traits {
	m := make(map[atom.Atom]traits)
	set := func(set func(*traits), names ...atom.Atom) {
		for _, name := range names {
			t := m[name]
			set(&t)
			m[name] = t
		}
	}
	bit := uint8(1)
	type names = []atom.Atom
	ends := func(starts, ended, kept names) {
		set(func(t *traits) { t.starts |= bit }, starts...)
		set(func(t *traits) { t.ended |= bit }, ended...)
		set(func(t *traits) { t.kept |= bit }, kept...)
		bit <<= 1
	}
	ends(names{atom.Td, atom.Th}, names{atom.Td, atom.Th}, names{atom.Table, atom.Tr})
	ends(names{atom.Tr}, names{atom.Tr}, names{atom.Table})
	ends(names{atom.Li}, names{atom.Li}, names{atom.Ul, atom.Ol})
	ends(names{atom.Dt, atom.Dd}, names{atom.Dt, atom.Dd}, names{atom.Dl})
	ends(names{atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center,
		atom.Div, atom.Dl, atom.Fieldset, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4,
		atom.H5, atom.H6, atom.Header, atom.Hr, atom.Main, atom.Nav, atom.Ol, atom.P, atom.Pre,
		atom.Section, atom.Ul}, names{atom.P}, names{atom.Table, atom.Td, atom.Th, atom.Button, atom.Object, atom.Template, atom.Svg, atom.Math})
	set(func(t *traits) { t.isVoid = true }, atom.Area, atom.Base, atom.Basefont, atom.Br, atom.Col, atom.Embed, atom.Frame, atom.Hr, atom.Image, atom.Img, atom.Input,
		atom.Keygen, atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr)
	set(func(t *traits) { t.isBlock = true }, blocks...)
	set(func(t *traits) { t.isDocument = true }, atom.Html, atom.Head, atom.Body, atom.Frameset, atom.Frame)
	set(func(t *traits) { t.isTablePart = true }, atom.Caption, atom.Col, atom.Colgroup, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr)
	set(func(t *traits) { t.isUnseen = true }, atom.Title, atom.Script, atom.Style, atom.Template, atom.Iframe,
		atom.Noembed, atom.Noframes, atom.Object, atom.Svg, atom.Math, atom.Select, atom.Datalist,
		atom.Audio, atom.Video, atom.Canvas, atom.Details, atom.Dialog, atom.Rp, atom.Meter, atom.Progress)
	set(func(t *traits) { t.isNeverShown = true }, atom.Script, atom.Style, atom.Template)
	set(func(t *traits) { t.isForeign = true }, atom.Svg, atom.Math)
	return m
}

// setNature records what an element has by its name, whatever is declared for it: a table and its cells are as wide as
// their text, and text fields and tickers are as large as declared.
func (s *style) setNature(name atom.Atom, isTiny bool) {
	switch name {
	case atom.Table, atom.Tr, atom.Td, atom.Th:
		s.setLook(narrow, false)
	case atom.Textarea:
		s.isClipped = true
	case atom.Marquee:
		s.isClipped, s.isSmall = true, s.isSmall || isTiny
	}
}
