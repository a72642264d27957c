package signature

import "bytes"

// view is the text of one part as a reader sees it, in both versions. It is gone
// with the next part.
type view struct {
	text   []byte // version 1
	text2  []byte // version 2
	quotes []span // of text2, what its author did not write, in order
}

// show reads one part.
func (c *computer) show(source []byte, t *textPart) view {
	text := t.text(source)
	text2 := toUTF8Version2(source, text, t.charset, t.isHTML)
	c.work.spend(stepsOfText + len(source)/2)
	if !sameBytes(text, source) {
		c.work.spend(len(text))
	}
	if !sameBytes(text, text2) {
		c.work.spend(2 * len(text2))
	}
	isHTML := t.isHTML || isPage(text2)
	s := view{text, text2, nil}
	if isHTML {
		c.page.read(text2)
		s.text2 = c.page.text2
		if c.origin.answer == byThread { // these marks are seen by nobody
			s.quotes = c.page.quotes
		}
	}
	switch {
	case t.isHTML && sameBytes(text, text2):
		s.text = c.page.text
	case t.isHTML: // charsets that version 1 does not know
		c.plain.read(text)
		s.text = c.plain.text
	}
	if ordered := inShownOrder(s.text2); !sameBytes(ordered, s.text2) {
		c.work.spend(4 * len(ordered))
		s.text2 = ordered
	}
	s.quotes = merge(appendQuoted(s.quotes, s.text2, c.origin, &c.work))
	c.work.spend(stepsOfLine * len(s.quotes))
	if isHTML {
		c.limits |= c.page.limits | c.page.sheets.limits
	}
	if t.carried == attachedPart {
		s.quotes = []span{{0, len(s.text2), byOther}}
	}
	return s
}

// text is the part in UTF-8 as version 1 reads it.
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
