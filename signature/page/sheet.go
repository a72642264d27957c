package page

import (
	"bytes"
	"unicode/utf8"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	// maxSheet bounds the style sheets of a page, in bytes.
	maxSheet = 256 << 10
	// maxSelectors bounds the different selectors of a page.
	maxSelectors = 5000
	// maxClasses bounds the classes of an element that are looked up.
	maxClasses = 16
)

// sheet is what the style sheets of a page hide. A rule is stored by the simplest
// condition of its selector on the element itself: "#id", else ".class", an element's
// name, "[attribute". Its other conditions, on this element and others, are assumed to be
// met.
type sheet struct {
	rules  map[string]*style
	size   int  // of the sheets read
	isDone bool // further sheets are not read
	limits work.Limits
	work   *work.Steps
}

// read reads a style sheet. The blocks of at-rules count as though they stood alone,
// except for those of media other than a usual window.
func (s *sheet) read(text []byte) {
	if left := maxSheet - s.size; len(text) > left {
		text = text[:left]
		s.limits |= work.LimitStyleSheets
	}
	s.size += len(text)
	s.work.Spend(len(text) / 2)
	text = cleanStyle(bytes.ToLower(text))
	for !s.work.IsOver() {
		text = bytes.TrimLeft(text, " \t\r\n\f;}")
		end := bytes.IndexAny(text, "{;")
		if end < 0 {
			return
		}
		head := bytes.TrimSpace(text[:end])
		isAtRule := bytes.HasPrefix(head, []byte("@"))
		switch {
		case text[end] == ';' && isAtRule:
			text = text[end:]
			continue
		case isAtRule && isForWindow(head):
			text = text[end+1:]
			continue
		case isAtRule:
			text = text[blockEnd(text):]
			continue
		}
		open := bytes.IndexByte(text, '{')
		if open < 0 {
			return
		}
		body, rest, _ := bytes.Cut(text[open+1:], []byte("}"))
		s.addRule(text[:open], body)
		text = rest
	}
}

// isForWindow reports whether the block of an at-rule may apply in a window of 1,000
// pixels.
func isForWindow(head []byte) bool {
	if !bytes.HasPrefix(head, []byte("@media")) {
		return !bytes.HasPrefix(head, []byte("@font-face"))
	}
	if bytes.Contains(head, []byte("print")) {
		return false
	}
	_, most, isNarrow := bytes.Cut(head, []byte("max-"))
	if !isNarrow {
		return true
	}
	_, most, _ = bytes.Cut(most, []byte(":"))
	n, _, ok := measure(string(bytes.TrimSpace(most[:min(len(most), 16)])))
	return ok && n >= 1000
}

// blockEnd returns where the first block of text ends.
func blockEnd(text []byte) int {
	depth := 0
	for i, c := range text {
		if c == '{' {
			depth++
		} else if c == '}' {
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

func (s *sheet) addRule(selectors, body []byte) {
	s.work.Spend(work.PerTag + len(selectors)/2 + 2*len(body))
	var declared style
	declared.read(body)
	if !declared.isSignificant {
		return
	}
	for len(selectors) > 0 {
		var one []byte
		one, selectors, _ = bytes.Cut(selectors, []byte(","))
		s.work.Spend(work.PerSelector + len(one))
		key := keyOfSelector(bytes.TrimSpace(one))
		if len(key) == 0 {
			continue
		}
		known := s.rules[string(key)]
		if known == nil {
			if len(s.rules) == maxSelectors {
				s.limits |= work.LimitStyleSheets
				return
			}
			if s.rules == nil {
				s.rules = make(map[string]*style)
			}
			known = new(style)
			s.rules[string(key)] = known
		}
		known.add(&declared)
	}
}

// keyOfSelector returns the condition on the selected element by which a rule is stored;
// nothing if that is a state that an element may not have, or a piece of one.
func keyOfSelector(selector []byte) []byte {
	if i := bytes.IndexByte(selector, '('); i >= 0 {
		selector = selector[:i]
	}
	selector = selector[bytes.LastIndexAny(selector, " \t\r\n\f>+~")+1:]
	key, pseudo, isPseudo := bytes.Cut(selector, []byte(":"))
	if isPseudo && (len(pseudo) == 0 || bytes.Contains(pseudo, []byte(":")) || notAlways[string(pseudo)]) {
		return nil
	}
	base, attribute, hasAttribute := bytes.Cut(key, []byte("["))
	if i := bytes.IndexByte(base, '#'); i >= 0 {
		base = base[i:]
	}
	if i := bytes.IndexByte(base, '.'); i >= 0 {
		base = base[i:]
	}
	if i := bytes.IndexAny(base[min(1, len(base)):], ".#"); i >= 0 {
		base = base[:i+1]
	}
	if hasAttribute && len(base) == 0 {
		if i := bytes.IndexAny(attribute, "]=~|^$* "); i >= 0 {
			return key[:i+1]
		}
	}
	return base
}

// notAlways are states and pieces of elements.
var notAlways = map[string]bool{"hover": true, "active": true, "focus": true, "visited": true, "target": true, "checked": true,
	"before": true, "after": true, "first-line": true, "first-letter": true, "link": true}

// apply adds to d what the sheets declare for an element. Names, classes and ids are in
// lower case.
func (s *sheet) apply(d *style, m *markup, class, id []byte) {
	if len(s.rules) == 0 || len(m.name) > 64 || len(id) > 64 {
		return
	}
	s.work.Spend(work.PerTag * (3 + len(m.attrs) + min(len(class), 2*maxClasses))) // a class has two bytes with its blank
	var buf [128]byte
	look := func(sign string, name []byte) {
		if len(name)+1 > len(buf) {
			return
		}
		if rule := s.rules[string(append(append(buf[:0], sign...), name...))]; rule != nil {
			d.add(rule)
		}
	}
	look("*", nil)
	look("", m.name)
	for _, a := range m.attrs {
		if rule := s.rules["["+a.key]; rule != nil {
			d.add(rule)
		}
	}
	n := 0
	for one := range bytes.FieldsSeq(class) {
		if n++; n > maxClasses {
			s.limits |= work.LimitStyleSheets
			break
		}
		look(".", one)
	}
	if len(id) > 0 {
		look("#", id)
	}
}

// cleanStyle returns CSS in lower case, without comments, and with escapes of letters
// decoded (CSS Syntax, section 4.3.7); text itself if it has neither. Escapes of other
// characters become "_", which is in no name that matters.
func cleanStyle(text []byte) []byte {
	if !bytes.Contains(text, []byte("/*")) && bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	var quote byte
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\\':
			r, size := cssEscape(text[i:])
			out = utf8.AppendRune(out, r)
			i += size
			continue
		case quote != 0:
			if c == quote || c == '\n' {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			end := bytes.Index(text[i+2:], []byte("*/"))
			if end < 0 {
				return out
			}
			out = append(out, ' ')
			i += end + 4
			continue
		}
		out = append(out, c)
		i++
	}
	return out
}

// cssEscape reads the escape with which text begins. It returns its character, in lower
// case, and its length.
func cssEscape(text []byte) (r rune, size int) {
	size = 1
	for size < len(text) && size <= 6 && ascii.IsHex(text[size]) {
		r = r<<4 | rune(ascii.Unhex(text[size]))
		size++
	}
	switch {
	case size > 1 && size < len(text) && ascii.IsSpace(text[size]):
		size++
	case size == 1 && len(text) > 1:
		r, size = rune(text[1]), 2
	}
	if 'A' <= r && r <= 'Z' {
		r |= 0x20
	}
	if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' {
		return r, size
	}
	return '_', size
}
