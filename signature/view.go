package signature

import "bytes"

// view is the text of one part as a reader sees it. It is gone with the next part.
type view struct {
	text   []byte
	quotes []span // of text, what its author did not write, in order
}

// show reads one part.
func (c *computer) show(source []byte, t *textPart) view {
	text := t.text(source)
	c.work.spend(stepsOfText + len(source)/2)
	if !sameBytes(text, source) {
		c.work.spend(2 * len(text))
	}
	s := view{text, nil}
	if t.isHTML || isPage(text) {
		c.page.read(text)
		s.text = c.page.text
		if c.origin.answer == byThread { // these marks are seen by nobody
			s.quotes = c.page.quotes
		}
		c.limits |= c.page.limits | c.page.sheets.limits
	}
	if ordered := inShownOrder(s.text); !sameBytes(ordered, s.text) {
		c.work.spend(4 * len(ordered))
		s.text = ordered
	}
	s.quotes = merge(appendQuoted(s.quotes, s.text, c.origin, &c.work))
	c.work.spend(stepsOfLine * len(s.quotes))
	if t.attached {
		s.quotes = []span{{0, len(s.text), byOther}}
	}
	return s
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
