package signature

import (
	"bytes"
	"html"
)

// linkAttribute tells the attributes that hold a URL, with the rank of the link.
func linkAttribute(name string) (r rank, isURL bool) {
	switch name {
	case "href", "action", "formaction", "xlink:href":
		return clicked, true
	case "src", "background", "data", "poster", "longdesc", "ping", "lowsrc", "dynsrc", "cite", "codebase", "archive":
		return loaded, true
	}
	return 0, false
}

// scanHTML notes the links of an HTML page: those in tags, whether they are seen or
// not, and those in its text, scripts and styles. It is lenient where the HTML
// Standard's tokenizer is, and follows tags into comments, as conditional comments
// are seen by some mail programs; what it finds there is ranked as loaded.
func (l *links) scanHTML(page []byte) {
	l.text = l.text[:0]
	comment := 0 // its end
	l.work.spend(len(page) / 4)
	for at := 0; at < len(page) && !l.work.isOver(); {
		i := bytes.IndexByte(page[at:], '<')
		if i < 0 {
			l.text = append(l.text, page[at:]...)
			break
		}
		l.text = append(l.text, page[at:at+i]...)
		at += i + 1
		switch rest := page[at:]; {
		case bytes.HasPrefix(rest, []byte("!--")):
			if at >= comment {
				comment = len(page)
				if end := bytes.Index(rest, []byte("-->")); end >= 0 {
					comment = at + end
				}
			}
			at += 3
		case len(rest) > 0 && (rest[0] == '!' || rest[0] == '?'):
			at = skipTo(page, at, '>')
		case len(rest) > 0 && opensTag(rest[0]):
			at = l.tag(page, at, at < comment)
		default:
			l.text = append(l.text, '<')
		}
	}
	text := l.text
	if bytes.IndexByte(text, '&') >= 0 {
		text = []byte(html.UnescapeString(string(text)))
	}
	l.scanText(withoutListFooter(text), shown)
}

// opensTag says whether a tag may begin so, behind its "<".
func opensTag(c byte) bool { return c == '/' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// skipTo returns the place behind the next c.
func skipTo(b []byte, at int, c byte) int {
	if i := bytes.IndexByte(b[at:], c); i >= 0 {
		return at + i + 1
	}
	return len(b)
}

// tag reads a tag whose name begins at at, and returns where it ends. Tags of text
// within a line do not part words of the text: a host name may be spread over them.
func (l *links) tag(page []byte, at int, inComment bool) int {
	begin := at
	for at < len(page) && !isSpace(page[at]) && page[at] != '>' && (page[at] != '/' || at == begin) {
		at++
	}
	name := page[begin:at]
	l.work.spend(stepsOfTag)
	if !isWithinLine(lowerName(bytes.TrimPrefix(name, []byte("/")))) {
		l.text = append(l.text, '\n')
	}
	for at < len(page) && page[at] != '>' {
		var key, value []byte
		key, value, at = attribute(page, at)
		if len(value) >= 4 {
			l.attribute(name, key, value, inComment)
		}
	}
	return at + 1
}

// isWithinLine tells the elements of text within a line.
func isWithinLine(name string) bool {
	switch name {
	case "a", "b", "i", "u", "s", "em", "strong", "font", "span", "wbr", "big", "small", "tt", "code", "sub", "sup", "bdo", "nobr":
		return true
	}
	return false
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// lowerName is the name of a tag or attribute in lower case; "" if none of those
// that matter is so long.
func lowerName(b []byte) string {
	var lower [16]byte
	if len(b) > len(lower) {
		return ""
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	return string(lower[:len(b)])
}

// attribute reads one attribute of a tag, quoted or not.
func attribute(b []byte, at int) (key, value []byte, next int) {
	for at < len(b) && (isSpace(b[at]) || b[at] == '/' || b[at] == '"' || b[at] == '\'') {
		at++
	}
	begin := at
	for at < len(b) && !isSpace(b[at]) && b[at] != '>' && b[at] != '/' && (b[at] != '=' || at == begin) {
		at++
	}
	key = b[begin:at]
	for at < len(b) && isSpace(b[at]) {
		at++
	}
	if at == len(b) || b[at] != '=' {
		return key, nil, at
	}
	for at++; at < len(b) && isSpace(b[at]); at++ {
	}
	if at < len(b) && (b[at] == '"' || b[at] == '\'') {
		end := skipTo(b, at+1, b[at])
		return key, bytes.TrimSuffix(b[at+1:end], b[at:at+1]), end
	}
	begin = at
	for at < len(b) && !isSpace(b[at]) && b[at] != '>' {
		at++
	}
	return key, b[begin:at], at
}

// attribute notes the links in an attribute.
func (l *links) attribute(tag, key, value []byte, inComment bool) {
	name := lowerName(key)
	r, isURL := linkAttribute(name)
	isRest := name == "style" || name == "srcset" || name == "content" || len(name) > 2 && name[:2] == "on"
	if !isURL && !isRest {
		return
	}
	if name == "href" && foldsEqual(tag, "link") || isRest && name != "content" || inComment {
		r = loaded
	}
	value = value[:min(len(value), 4*maxURL)]
	l.work.spend(stepsOfTag + len(value)/2)
	if bytes.IndexByte(value, '&') >= 0 {
		value = []byte(html.UnescapeString(string(value)))
	}
	if isRest {
		l.scanText(value, r)
		return
	}
	l.addReference(value, r)
}

func foldsEqual(b []byte, s string) bool { return len(b) == len(s) && foldsTo(b, s) }

// addReference notes what an attribute refers to, as browsers read it: blanks
// around it and line ends and tabs in it do not count; two slashes stand for the
// scheme of the page.
func (l *links) addReference(value []byte, r rank) {
	value = bytes.TrimFunc(value, func(c rune) bool { return c <= ' ' })
	if bytes.ContainsAny(value, "\r\n\t") {
		value = bytes.Map(func(c rune) rune {
			if c == '\r' || c == '\n' || c == '\t' {
				return -1
			}
			return c
		}, value)
	}
	if len(value) > 2 && isSlash(value[0]) && isSlash(value[1]) {
		l.addURL(value, r)
		return
	}
	colon := bytes.IndexAny(value, ":/\\?#")
	switch {
	case colon < 0 || value[colon] != ':':
		// Relative to a page that mail does not have; but mail programs guess.
		if hasFoldPrefix(value, "www.") {
			l.addURL(value, r)
		}
	case foldsEqual(value[:colon], "http") || foldsEqual(value[:colon], "https") || foldsEqual(value[:colon], "ftp"):
		l.addURL(value[colon+1:], r)
	case foldsEqual(value[:colon], "mailto"), foldsEqual(value[:colon], "cid"):
	default:
		l.scanText(value, r) // javascript: and others that go on to a page
	}
}
