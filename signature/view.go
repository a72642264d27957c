package signature

import (
	"bytes"
	"slices"
)

// view is the text of one part in two readings: without what is plainly hidden, and all
// that a program could show. In plain text they are one.
type view struct {
	reading         // without what is plainly hidden
	all     reading // where something is, else the same
	hidden  []span  // of all
	refs    []reference
	isPage  bool
}

// reading is a text, of which quotes are what its author did not write, in order.
type reading struct {
	text   []byte
	quotes []span
}

// show reads one part, once.
func (c *computer) show(t *textPart) *view {
	if t.view != nil {
		return t.view
	}
	source := c.source[t.start:t.end]
	text := t.text(source)
	c.work.spend(stepsOfText + len(source)/2)
	if !sameBytes(text, source) {
		c.work.spend(2 * len(text))
	}
	s := &view{}
	t.view = s
	if s.isPage = t.isHTML || isPage(text); !s.isPage {
		s.all = c.reading(text, nil, t.carried == attachedPart)
		s.reading = s.all
		return s
	}
	p := &c.page
	p.read(text)
	c.limits |= p.limits
	text, s.refs = p.shown()
	s.hidden = p.hidden
	var quotes []span
	if c.origin.answer == byThread { // these marks are seen by nobody
		quotes = merge(slices.Clone(p.quotes))
	}
	if s.all = c.reading(text, slices.Clone(quotes), t.carried == attachedPart); len(s.hidden) == 0 {
		s.reading = s.all
		return s
	}
	c.work.spend(len(text) / 2)
	s.reading = c.reading(without(s.hidden, text), moved(s.hidden, quotes), t.carried == attachedPart)
	return s
}

// reading puts text into the order in which it is read, and finds what is quoted.
func (c *computer) reading(text []byte, quotes []span, isAttached bool) reading {
	if ordered := inShownOrder(text); !sameBytes(ordered, text) {
		c.work.spend(4 * len(ordered))
		text = ordered
	}
	if isAttached {
		return reading{text, []span{{0, len(text), byOther}}}
	}
	quotes = merge(appendQuoted(quotes, text, c.origin, &c.work))
	c.work.spend(stepsOfLine * len(quotes))
	return reading{text, quotes}
}

// without is text without the hidden stretches.
func without(hidden []span, text []byte) []byte {
	out := make([]byte, 0, len(text))
	pos := 0
	for _, h := range hidden {
		out = append(out, text[pos:h.start]...)
		pos = h.end
	}
	return append(out, text[pos:]...)
}

// moved are spans, in order, where they stand in the text without the hidden stretches.
func moved(hidden, spans []span) []span {
	cut := 0 // hidden bytes before at
	place := func(at int) int {
		for len(hidden) > 0 && hidden[0].end <= at {
			cut += hidden[0].end - hidden[0].start
			hidden = hidden[1:]
		}
		if len(hidden) > 0 && hidden[0].start < at {
			return hidden[0].start - cut
		}
		return at - cut
	}
	var out []span
	for _, s := range spans {
		out = append(out, span{place(s.start), place(s.end), s.by})
	}
	return out
}

// text is the part in UTF-8.
func (t *textPart) text(source []byte) []byte {
	if t.utf8 == nil {
		t.utf8 = toUTF8(source, t.charset, t.isHTML)
	}
	return t.utf8
}

// isPage tells an HTML page that is declared as plain text.
func isPage(text []byte) bool {
	text = bytes.TrimLeft(text[:min(len(text), 512)], " \t\r\n\ufeff")
	for _, begin := range []string{"<!doctype html", "<html"} {
		if len(text) > len(begin) && bytes.EqualFold(text[:len(begin)], []byte(begin)) {
			return true
		}
	}
	return false
}

// sameBytes tells whether a and b are one slice.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
