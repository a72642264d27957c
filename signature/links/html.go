package links

import (
	"bytes"
	"html"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/work"
)

// refer records the links in a piece of a page.
func (l *Finder) refer(a page.Reference) {
	value := a.Value[:min(len(a.Value), 4*maxURL)]
	l.work.Spend(work.PerTag + len(value)/2)
	if bytes.IndexByte(value, '&') >= 0 {
		value = []byte(html.UnescapeString(string(value)))
	}
	if a.IsText {
		l.scanText(value, a.Rank)
		return
	}
	l.addReference(value, a.Rank)
}

// addReference records the link of an attribute, as browsers read it. Blanks around it do
// not count, nor line ends and tabs in it. Two slashes stand for the scheme of the page.
func (l *Finder) addReference(value []byte, r page.Rank) {
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
		// It is relative to a page, which mail does not have; but mail programs guess.
		if ascii.HasPrefixFold(value, "www.") {
			l.addURL(value, r)
		}
	case ascii.EqualFold(value[:colon], "http") || ascii.EqualFold(value[:colon], "https") || ascii.EqualFold(value[:colon], "ftp"):
		l.addURL(value[colon+1:], r)
	case ascii.EqualFold(value[:colon], "mailto"), ascii.EqualFold(value[:colon], "cid"):
	default:
		l.scanText(value, r) // javascript: and others that may open a page
	}
}
