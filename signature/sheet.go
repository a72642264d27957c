package signature

import "bytes"

// sheet is what the style sheets of a page say, by selector: an element, ".class",
// "#id", "element.class" or "element#id"; and chains of such. Other selectors are not
// followed, but that they give what they select a background is known.
type sheet struct {
	rules  map[string]*declared
	chains map[string][]chain // by the key of the last compound
	count  int                // of chains
	steps  int                // that may still be spent on them
	limits Limits
	work   *work
}

// stepsPerByte bounds what chains may cost, by the length of their page.
const stepsPerByte = 4

// readSheets reads the style elements of a page, wherever they stand. Those in
// comments are for programs that nobody else uses.
func readSheets(source []byte, work *work) (s sheet) {
	s.work = work
	work.spend(len(source) / 8)
	left := maxSheet
	s.steps = stepsPerByte * len(source)
	for pos := 0; ; {
		i := bytes.IndexByte(source[pos:], '<')
		if i < 0 {
			return s
		}
		pos += i + 1
		switch rest := source[pos:]; {
		case bytes.HasPrefix(rest, []byte("!--")):
			end := bytes.Index(rest, []byte("-->"))
			if end < 0 {
				return s
			}
			pos += end
		case len(rest) > 6 && rest[0]|0x20 == 's' && bytes.EqualFold(rest[:5], []byte("style")):
			open := bytes.IndexByte(rest, '>')
			if open < 0 {
				return s
			}
			end := indexFold(rest, "</style")
			if end < open {
				end = len(rest)
			}
			text := rest[open+1 : max(open+1, end)]
			if len(text) > left {
				text = text[:left]
				s.limits |= LimitStyleSheets
			}
			left -= len(text)
			s.read(cleanStyle(bytes.ToLower(text)))
			pos += end
		}
	}
}

// indexFold is bytes.Index of an ASCII word that begins with "</", in any case.
func indexFold(b []byte, word string) int {
	for pos := 0; ; {
		i := bytes.Index(b[pos:], []byte("</"))
		if i < 0 || pos+i+len(word) > len(b) {
			return -1
		}
		pos += i
		if bytes.EqualFold(b[pos:pos+len(word)], []byte(word)) {
			return pos
		}
		pos += 2
	}
}

// read takes in the rules of a style sheet in lower case, without comments; of the
// blocks of at-rules, those that hold for a usual window.
func (s *sheet) read(text []byte) {
	for len(text) > 0 {
		text = bytes.TrimLeft(text, " \t\r\n\f;}")
		if comment, ok := bytes.CutPrefix(text, []byte("/*")); ok {
			_, text, _ = bytes.Cut(comment, []byte("*/"))
			continue
		}
		text = trimMarks(text)
		if bytes.HasPrefix(text, []byte("@")) {
			end := bytes.IndexAny(text, "{;")
			if end >= 0 && text[end] == ';' {
				text = text[end:]
				continue
			}
		}
		open := bytes.IndexByte(text, '{')
		if open < 0 || s.work.isOver() {
			return
		}
		selectors := text[:open]
		if bytes.HasPrefix(text, []byte("@")) {
			s.work.spend(2 * len(selectors))
			if applies(bytes.TrimSpace(selectors)) {
				text = text[open+1:]
			} else {
				text = text[blockEnd(text, open):]
			}
			continue
		}
		body, rest, _ := bytes.Cut(text[open+1:], []byte("}"))
		text = rest
		s.work.spend(stepsOfTag + len(selectors)/2 + 2*len(body))
		var d declared
		d.declare(body)
		if d.set != 0 {
			s.addRule(selectors, &d)
		}
	}
}

// trimMarks takes off the comment marks of HTML, which style sheets may be
// wrapped in.
func trimMarks(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("<!--"))
	text = bytes.TrimPrefix(text, []byte("-->"))
	return bytes.TrimLeft(text, " \t\r\n")
}

// blockEnd is where the block that opens at open ends.
func blockEnd(text []byte, open int) int {
	depth := 0
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

func (s *sheet) addRule(selectors []byte, d *declared) {
	for len(selectors) > 0 {
		var one []byte
		one, selectors, _ = bytes.Cut(selectors, []byte(","))
		one = bytes.TrimSpace(one)
		if len(one) == 0 || len(one) > 100 {
			continue
		}
		s.work.spend(stepsOfSelector + len(one))
		if !bytes.ContainsAny(one, ":[+~") {
			if list, ok := readChain(one); ok && (len(list) > 1 || !list[0].isSimple() || one[0] == '*') {
				s.addChain(chain{list, d})
				continue
			}
		}
		s.addSimple(one, d)
	}
}

func (s *sheet) addChain(c chain) {
	if s.count == maxSelectors {
		s.limits |= LimitStyleSheets
		return
	}
	if s.chains == nil {
		s.chains = make(map[string][]chain)
	}
	s.count++
	key := c.compounds[len(c.compounds)-1].key()
	s.chains[key] = append(s.chains[key], c)
}

// addSimple adds a rule by its selector, or what it says of a background where that is
// not followed.
func (s *sheet) addSimple(one []byte, rule *declared) {
	if i := bytes.LastIndexAny(one, " \t\r\n>+~"); i >= 0 {
		if rule.set&(1<<paper) == 0 {
			return
		}
		one, rule = one[i+1:], &declared{}
		rule.put(paper, unknownColour, false)
	}
	if len(one) == 0 || bytes.ContainsAny(one, ":[*") {
		return
	}
	if s.rules == nil {
		s.rules = make(map[string]*declared)
	}
	known := s.rules[string(one)]
	if known == nil {
		if len(s.rules) == maxSelectors {
			s.limits |= LimitStyleSheets
			return
		}
		known = new(declared)
		s.rules[string(one)] = known
	}
	known.add(rule)
}

// apply puts over d what the sheets say of the last of a path of elements. Names,
// classes and ids are in lower case.
func (s *sheet) apply(d *declared, path []named) {
	e := path[len(path)-1]
	if len(s.rules) == 0 && s.count == 0 || len(e.name) > 64 || len(e.id) > 64 {
		return
	}
	s.work.spend(stepsOfTag * (4 + min(len(e.class), 2*maxClasses))) // a class has two bytes
	var buf [128]byte
	look := func(parts ...[]byte) {
		key := buf[:0]
		for _, part := range parts {
			key = append(key, part...)
		}
		if rule := s.rules[string(key)]; rule != nil {
			d.add(rule)
		}
		s.follow(d, s.chains[string(key)], path)
	}
	look([]byte("*"))
	look(e.name)
	rest := e.class
	for range maxClasses {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if len(rest) == 0 {
			break
		}
		end := bytes.IndexAny(rest, " \t\r\n")
		if end < 0 {
			end = len(rest)
		}
		look([]byte("."), rest[:end])
		look(e.name, []byte("."), rest[:end])
		rest = rest[end:]
	}
	if len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
		s.limits |= LimitStyleSheets
	}
	if len(e.id) > 0 {
		look([]byte("#"), e.id)
		look(e.name, []byte("#"), e.id)
	}
}

// follow adds what chains say that select the last of a path.
func (s *sheet) follow(d *declared, chains []chain, path []named) {
	before := s.steps
	for i := range chains {
		c := &chains[i]
		if s.steps < 0 {
			s.limits |= LimitStyleSheets
			break
		}
		if c.fits(path, &s.steps) {
			d.add(c.declared)
		}
	}
	s.work.spend(before - s.steps)
}
