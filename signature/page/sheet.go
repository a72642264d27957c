package page

import (
	"bytes"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/page/css"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	// maxSheet bounds the style sheets of a page, in bytes.
	maxSheet = 256 << 10
	// maxSelectors bounds the different selectors of a page.
	maxSelectors = 5000
	// maxClasses bounds the classes of an element that are looked up.
	maxClasses = 64
	// maxName is the length of a name, in bytes, beyond which it does not count.
	maxName = 64
)

// sheet is what the style sheets of a page hide. A rule is stored by the simplest
// condition of its selector on the element itself: "#id", else ".class", an element's
// name, "[attribute". Its other conditions, on this element and others, are assumed to be
// met.
type sheet struct {
	rules     map[string]*style
	generated []byte // strings that the latest sheet adds to elements, a line each
	size      int    // of the sheets read
	outer     []byte // the selectors of the rule around the one that is read
	isDone    bool   // further sheets are not read
	frames    []frame
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
	text = css.Clean(text)
	for _, imported := range css.Imported(text) {
		s.read(imported)
	}
	text = bytes.ToLower(text)
	for _, mark := range []string{"<!--", "-->", "<![cdata[", "]]>"} {
		if bytes.Contains(text, []byte(mark)) {
			text = bytes.ReplaceAll(text, []byte(mark), []byte(" "))
		}
	}
	s.readRules(text)
}

// readRules reads the rules of a sheet without comments.
func (s *sheet) readRules(text []byte) {
	var open [][]byte // the selectors of the rules around text, or nil for a block of others
	for !s.work.IsOver() {
		if text, open = skipEnds(text, open); len(open) > 0 {
			s.outer = open[len(open)-1]
		} else {
			s.outer = nil
		}
		end := bytes.IndexAny(text, "{;}")
		if end < 0 {
			s.addRule(s.outer, text)
			return
		}
		head := bytes.TrimSpace(text[:end])
		isAtRule := bytes.HasPrefix(head, []byte("@"))
		var body []byte
		switch {
		case isAtRule && text[end] != '{':
			text = text[end:]
		case isAtRule && css.IsForWindow(head):
			text, open = text[end+1:], append(open, s.outer)
		case isAtRule:
			block := text[:blockEnd(text)]
			if bytes.Contains(head, []byte("keyframes")) {
				s.readFrames(block)
			}
			text = text[len(block):]
		case text[end] != '{' && (s.outer != nil || text[end] == '}'): // declarations behind a rule in a rule
			body, text = cutBlock(text)
			s.addRule(s.outer, body)
		default:
			brace := bytes.IndexByte(text, '{')
			if brace < 0 {
				return
			}
			selectors := text[:brace]
			body, text = cutBlock(text[brace+1:])
			s.addRule(selectors, body)
			open = append(open, selectors)
		}
	}
}

// skipEnds skips what separates rules, and the ends of blocks. It returns the blocks that are still open.
func skipEnds(text []byte, open [][]byte) ([]byte, [][]byte) {
	for len(text) > 0 && (ascii.IsSpace(text[0]) || text[0] == ';' || text[0] == '}') {
		if text[0] == '}' && len(open) > 0 {
			open = open[:len(open)-1]
		}
		text = text[1:]
	}
	return text, open
}

// cutBlock returns the declarations with which a block begins, and what follows them: the end of
// the block, or the first rule inside it (CSS Nesting), which counts like one outside.
func cutBlock(text []byte) (declarations, rest []byte) {
	end := bytes.IndexAny(text, "{}")
	if end < 0 {
		return text, nil
	}
	if text[end] == '{' {
		end = bytes.LastIndexByte(text[:end], ';') + 1
	}
	return text[:end], text[end:]
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
		one, list = css.Cut(list, func(c byte) bool { return c == ',' })
		s.work.Spend(work.PerSelector + len(one))
		one = bytes.TrimSpace(one)
		isForGmail := css.IsForGmail(one)
		one = css.Subject(one)
		if name, inside, ok := bytes.Cut(one, []byte("(")); ok && anyOf[string(name)] {
			s.addSelectors(bytes.TrimSuffix(inside, []byte(")")), declared)
			continue
		}
		s.work.Spend(len(s.outer) / 16)
		if string(one) == "&" && s.outer != nil && bytes.IndexByte(s.outer, '&') < 0 {
			s.addSelectors(s.outer, declared)
			continue
		}
		key := keyOfSelector(bytes.TrimPrefix(one, []byte("&")))
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
		added := *declared
		added.isBlended = added.isBlended && !isForGmail
		if bytes.HasSuffix(one, []byte(":link")) { // colours of links in a dark part of the page
			added.hasInk, added.hasPaper = false, false
		}
		known.add(&added)
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
		s.generated = append(append(s.generated, css.Restore(text)...), '\n')
		value = bytes.TrimSpace(rest)
	}
}

// keyOfSelector returns the condition by which a rule is stored, of the subject of its selector;
// nothing if that is a state that an element may not have, or a piece of one. An attribute that a
// page has no other use for is met by any element.
func keyOfSelector(selector []byte) []byte {
	if i := bytes.IndexByte(selector, '('); i >= 0 {
		selector = selector[:i]
	}
	if i := bytes.IndexAny(selector, "|["); i >= 0 && selector[i] == '|' { // a namespace
		selector = selector[i+1:]
	}
	key, attribute, hasAttribute := bytes.Cut(selector, []byte("["))
	key, pseudo, isPseudo := bytes.Cut(key, []byte(":"))
	name := bytes.TrimPrefix(pseudo, []byte(":"))
	if isPseudo && (len(name) == 0 || notAlways[string(name)] || name[0] == '-' || len(name) < len(pseudo) && string(name) != "first-line") {
		return nil
	}
	if i := bytes.IndexByte(key, '#'); i >= 0 {
		key = key[i:]
	}
	if i := bytes.IndexByte(key, '.'); i >= 0 {
		key = key[i:]
	}
	if i := bytes.IndexAny(key[min(1, len(key)):], ".#"); i >= 0 {
		key = key[:i+1]
	}
	switch {
	case len(key) > 0:
		return key[:min(len(key), maxName)]
	case hasAttribute:
		i := bytes.IndexAny(attribute, "]=~|^$* ")
		if name := attributeNames.of(attribute[:max(i, 0)]).key; name != "" {
			return []byte("[" + name)
		}
	case len(selector) == 0:
		return nil
	case string(name) == "root":
		return []byte("html")
	case string(name) == "any-link", string(name) == "link":
		return []byte("a")
	}
	return anyElement
}

var anyElement = []byte("*")

// anyOf are the pseudo-classes with a list of selectors one of which must match.
var anyOf = map[string]bool{":is": true, ":where": true, ":matches": true, ":-webkit-any": true, ":-moz-any": true}

// notAlways are states and pieces of elements.
var notAlways = map[string]bool{"hover": true, "active": true, "focus": true, "visited": true, "target": true, "checked": true,
	"before": true, "after": true, "first-letter": true, "enabled": true, "disabled": true, "read-write": true,
	"placeholder-shown": true, "default": true, "indeterminate": true, "valid": true, "invalid": true, "required": true, "optional": true,
	"autofill": true, "focus-visible": true, "focus-within": true, "fullscreen": true, "modal": true, "popover-open": true, "open": true}

// apply adds to d what the sheets declare for an element. Names, classes and ids are in
// lower case.
func (s *sheet) apply(d *style, m *markup, class, id []byte) {
	if len(s.rules) == 0 {
		return
	}
	s.work.Spend(work.PerTag * (3 + len(m.attrs) + min(len(class), 2*maxClasses))) // a class has two bytes with its blank
	var buf [2 * maxName]byte
	look := func(sign string, name []byte) {
		key := append(append(buf[:0], sign...), name[:min(len(name), maxName)]...)
		if rule := s.rules[string(key[:min(len(key), maxName)])]; rule != nil {
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
