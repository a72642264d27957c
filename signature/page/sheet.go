package page

import (
	"bytes"
	"slices"
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
	rules     map[string]*style
	generated []byte // strings that the latest sheet adds to elements, a line each
	size      int    // of the sheets read
	isDone    bool   // further sheets are not read
	limits    work.Limits
	work      *work.Steps
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
	s.generated = s.generated[:0]
	text = cleanStyle(bytes.ToLower(text))
	for !s.work.IsOver() {
		text = bytes.TrimLeft(text, " \t\r\n\f;}")
		end := bytes.IndexAny(text, "{;}")
		if end < 0 {
			return
		}
		head := bytes.TrimSpace(text[:end])
		isAtRule := bytes.HasPrefix(head, []byte("@"))
		switch {
		case text[end] == '}', text[end] == ';' && isAtRule:
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
		body, rest := cutBlock(text[open+1:])
		s.addRule(text[:open], body)
		text = rest
	}
}

// cutBlock returns the declarations with which a block begins, and what follows them: all
// behind the block, or the first rule inside it (CSS Nesting), which counts like one outside.
func cutBlock(text []byte) (declarations, rest []byte) {
	end := bytes.IndexAny(text, "{}")
	if end < 0 {
		return text, nil
	}
	if text[end] == '}' {
		return text[:end], text[end+1:]
	}
	end = bytes.LastIndexByte(text[:end], ';') + 1
	return text[:end], text[end:]
}

// isForWindow reports whether the block of an at-rule may apply in a window of 1,000
// pixels.
func isForWindow(head []byte) bool {
	if !bytes.HasPrefix(head, []byte("@media")) {
		name, _, _ := bytes.Cut(head, []byte(" "))
		name, _, _ = bytes.Cut(name, []byte("("))
		return groupingRules[string(name)]
	}
	if bytes.Contains(head, []byte("print")) && !bytes.Contains(head, []byte("not")) {
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

// groupingRules are the at-rules whose block is of rules that may apply.
var groupingRules = map[string]bool{"@supports": true, "@layer": true, "@container": true, "@scope": true}

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
	s.generate(body)
	if !declared.isSignificant {
		return
	}
	s.addSelectors(selectors, &declared)
}

// addSelectors adds what is declared for a list of selectors. A list in parentheses of which
// one must match counts like one outside.
func (s *sheet) addSelectors(list []byte, declared *style) {
	for len(list) > 0 && !s.work.IsOver() {
		var one []byte
		one, list = cutSelector(list)
		s.work.Spend(work.PerSelector + len(one))
		one = subject(bytes.TrimSpace(one))
		if name, inside, ok := bytes.Cut(one, []byte("(")); ok && anyOf[string(name)] {
			s.addSelectors(bytes.TrimSuffix(inside, []byte(")")), declared)
			continue
		}
		key := keyOfSelector(one)
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
		known.add(declared)
	}
}

// generate keeps the strings of content, which a program shows before or after elements.
func (s *sheet) generate(body []byte) {
	_, value, ok := bytes.Cut(body, []byte("content:"))
	if !ok || len(s.generated) > maxGenerated {
		return
	}
	for value = bytes.TrimSpace(value); len(value) > 0 && (value[0] == '"' || value[0] == '\''); {
		text, rest, _ := bytes.Cut(value[1:], value[:1])
		s.generated = append(append(s.generated, text...), '\n')
		value = bytes.TrimSpace(rest)
	}
}

// cutSelector cuts a list of selectors at its first comma outside parentheses.
func cutSelector(list []byte) (one, rest []byte) {
	depth := 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			return list[:i], list[i+1:]
		}
	}
	return list, nil
}

// subject returns the part of a selector that is about the selected element itself: that
// behind its last combinator outside parentheses and brackets.
func subject(selector []byte) []byte {
	depth := 0
	for i, c := range slices.Backward(selector) {
		switch c {
		case ')', ']':
			depth++
		case '(', '[':
			depth--
		case ' ', '\t', '\r', '\n', '\f', '>', '+', '~':
			if depth == 0 {
				return selector[i+1:]
			}
		}
	}
	return selector
}

// keyOfSelector returns the condition by which a rule is stored, of the subject of its selector;
// nothing if that is a state that an element may not have, or a piece of one.
func keyOfSelector(selector []byte) []byte {
	if i := bytes.IndexByte(selector, '('); i >= 0 {
		selector = selector[:i]
	}
	if i := bytes.IndexAny(selector, "|["); i >= 0 && selector[i] == '|' { // a namespace
		selector = selector[i+1:]
	}
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

// anyOf are the pseudo-classes with a list of selectors one of which must match.
var anyOf = map[string]bool{":is": true, ":where": true, ":matches": true, ":-webkit-any": true, ":-moz-any": true}

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
