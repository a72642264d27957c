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

// refer notes the links in a piece of a page.
func (l *links) refer(a reference) {
	value := a.value[:min(len(a.value), 4*maxURL)]
	l.work.spend(stepsOfTag + len(value)/2)
	if bytes.IndexByte(value, '&') >= 0 {
		value = []byte(html.UnescapeString(string(value)))
	}
	if a.isText {
		l.scanText(value, a.rank)
		return
	}
	l.addReference(value, a.rank)
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
