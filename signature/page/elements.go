package page

import "golang.org/x/net/html/atom"

// traits are the properties of an element's name. The bits are rules by which elements
// end without an end tag: rules that an element applies when it starts, rules that end it
// with all inside it, and rules that end nothing around it.
type traits struct {
	starts, ended, kept uint8
	isVoid              bool // it has no end
	isInline            bool // it does not separate the words around it
	isUnseen            bool // most programs show nothing between its tags
	isNeverShown        bool // no program does
	isForeign           bool // it contains another language, and may close itself
}

var traitsOf = allTraits()

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
	set(func(t *traits) { t.isVoid = true }, atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input,
		atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr)
	set(func(t *traits) { t.isInline = true }, atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite,
		atom.Code, atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I, atom.Img, atom.Ins, atom.Kbd,
		atom.Label, atom.Mark, atom.Nobr, atom.Q, atom.Rp, atom.S, atom.Samp, atom.Script, atom.Small,
		atom.Span, atom.Strike, atom.Strong, atom.Style, atom.Sub, atom.Sup, atom.Time, atom.Tt,
		atom.U, atom.Var, atom.Wbr)
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
