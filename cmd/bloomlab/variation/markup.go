package variation

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// pages are the HTML parts of a message.
func (m *Mail) pages() []*Part {
	var list []*Part
	for _, p := range m.texts() {
		if p.Type == "text/html" {
			list = append(list, p)
		}
	}
	return list
}

var startTag = regexp.MustCompile(`^<(p|font|td|tr|table|div|span|a|b|i|img|center|body)\b`)

func changeAttributes(d *draw, m *Mail) bool {
	changed := false
	for _, p := range m.pages() {
		list := p.pieces()
		for i := range list {
			if tag := startTag.FindString(strings.ToLower(list[i].source)); !list[i].read && tag != "" {
				changed = true
				rest := list[i].source[len(tag):]
				list[i].source = fmt.Sprintf(`%s id="%s" data-%s="%s"%s`, tag, d.token(7), d.token(3), d.token(5), rest)
			}
		}
		p.setPieces(list)
	}
	return changed
}

// insertComments puts a comment inside of every third word of HTML.
func insertComments(d *draw, m *Mail) bool {
	for _, p := range m.pages() {
		list := p.pieces()
		for i := range list {
			if !list[i].read {
				continue
			}
			list[i].read = false
			list[i].source = wordPattern.ReplaceAllStringFunc(list[i].source, func(word string) string {
				at := cutPlace(d, word)
				if at == 0 || !d.chance(1.0/3) {
					return escapeText(word)
				}
				return escapeText(word[:at]) + "<!-- " + d.token(6) + " -->" + escapeText(word[at:])
			})
		}
		p.setPieces(list)
	}
	return len(m.pages()) > 0
}

// cutPlace is a place inside a word between two characters, or 0 where there is
// none.
func cutPlace(d *draw, word string) int {
	if utf8.RuneCountInString(word) < 3 || isLink(word) {
		return 0
	}
	at := 1 + d.IntN(len(word)-1)
	for at < len(word) && !utf8.RuneStart(word[at]) {
		at++
	}
	return at % len(word)
}

// toPlain drops what is only markup.
func toPlain(_ *draw, m *Mail) bool {
	pages := m.pages()
	if len(pages) == 0 {
		return false
	}
	m.Root = textPart("text/plain", pages[0].visible()+"\n")
	return true
}

// toHTML writes every plain text as HTML, where there is no HTML yet.
func toHTML(_ *draw, m *Mail) bool {
	if len(m.pages()) > 0 {
		return false
	}
	changed := false
	for _, p := range m.texts() {
		if p.Type == "text/plain" {
			changed = true
			p.Type = "text/html"
			delete(p.Params, "format")
			p.Body = []byte("<html><body>\n" + asHTML(string(p.Body)) + "</body></html>\n")
		}
	}
	return changed
}

// asHTML keeps lines and paragraphs.
func asHTML(text string) string {
	var out strings.Builder
	for _, block := range strings.Split(text, "\n\n") {
		out.WriteString(paragraph(block) + "\n")
	}
	return out.String()
}

// hide adds invisible words, at both ends and between paragraphs. Plain
// text becomes HTML first.
func hide(begin, end, style string) func(*draw, *Mail) bool {
	return func(d *draw, m *Mail) bool {
		if len(d.from.Words) == 0 || len(m.texts()) == 0 {
			return false
		}
		toHTML(d, m)
		hidden := func() string { return begin + d.words(10+d.IntN(20)) + end }
		for _, p := range m.pages() {
			list, isText := p.paragraphs()
			for i := range list {
				if isText[i] && d.chance(0.1) {
					list[i] += " " + hidden() + " "
				}
			}
			p.Body = []byte(strings.Join(list, ""))
			p.prepend("", style+hidden())
			p.append("", hidden())
		}
		return true
	}
}

var (
	links = regexp.MustCompile(`(?i)(https?://)([a-z0-9.-]+)(:\d+)?(/[^\s"'<>)]*)?`)
)

func (m *Mail) editLinks(edit func(scheme, host, rest string) string) bool {
	changed := false
	for _, p := range m.texts() {
		next := links.ReplaceAllStringFunc(string(p.Body), func(link string) string {
			g := links.FindStringSubmatch(link)
			changed = true
			return edit(g[1], g[2], g[3]+g[4])
		})
		p.Body = []byte(next)
	}
	return changed
}

func changePaths(d *draw, m *Mail) bool {
	return m.editLinks(func(scheme, host, _ string) string {
		return scheme + host + "/" + d.token(6) + "/?id=" + d.token(10)
	})
}

func changeHosts(d *draw, m *Mail) bool {
	return m.editLinks(func(scheme, _, rest string) string {
		return scheme + "www." + d.token(9) + ".com" + rest
	})
}
