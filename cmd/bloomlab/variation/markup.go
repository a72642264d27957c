package variation

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
)

var startTag = regexp.MustCompile(`^<(p|font|td|tr|table|div|span|a|b|i|img|center|body)\b`)

func changeAttributes(d *draw, m *message.Mail) bool {
	changed := false
	for _, p := range m.PageParts() {
		list := p.Pieces()
		for i := range list {
			if tag := startTag.FindString(strings.ToLower(list[i].Source)); !list[i].Read && tag != "" {
				changed = true
				rest := list[i].Source[len(tag):]
				list[i].Source = fmt.Sprintf(`%s id="%s" data-%s="%s"%s`, tag, d.token(7), d.token(3), d.token(5), rest)
			}
		}
		p.SetPieces(list)
	}
	return changed
}

// insertComments puts a comment inside of every third word of HTML.
func insertComments(d *draw, m *message.Mail) bool {
	for _, p := range m.PageParts() {
		list := p.Pieces()
		for i := range list {
			if !list[i].Read {
				continue
			}
			list[i].Read = false
			list[i].Source = message.WordPattern.ReplaceAllStringFunc(list[i].Source, func(word string) string {
				at := cutPlace(d, word)
				if at == 0 || !d.chance(1.0/3) {
					return message.EscapeText(word)
				}
				return message.EscapeText(word[:at]) + "<!-- " + d.token(6) + " -->" + message.EscapeText(word[at:])
			})
		}
		p.SetPieces(list)
	}
	return len(m.PageParts()) > 0
}

// cutPlace is a place inside a word between two characters, or 0 where there is
// none.
func cutPlace(d *draw, word string) int {
	if utf8.RuneCountInString(word) < 3 || message.IsLink(word) {
		return 0
	}
	at := 1 + d.IntN(len(word)-1)
	for at < len(word) && !utf8.RuneStart(word[at]) {
		at++
	}
	return at % len(word)
}

// toPlain drops what is only markup.
func toPlain(_ *draw, m *message.Mail) bool {
	pages := m.PageParts()
	if len(pages) == 0 {
		return false
	}
	m.Root = message.TextPart("text/plain", pages[0].Visible()+"\n")
	return true
}

// toHTML writes every plain text as HTML, where there is no HTML yet.
func toHTML(_ *draw, m *message.Mail) bool {
	if len(m.PageParts()) > 0 {
		return false
	}
	changed := false
	for _, p := range m.TextParts() {
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
		out.WriteString(message.Paragraph(block) + "\n")
	}
	return out.String()
}

// hide adds invisible words, at both ends and between paragraphs. Plain
// text becomes HTML first.
func hide(begin, end, style string) func(*draw, *message.Mail) bool {
	return func(d *draw, m *message.Mail) bool {
		if len(d.from.Words) == 0 || len(m.TextParts()) == 0 {
			return false
		}
		toHTML(d, m)
		hidden := func() string { return begin + d.words(10+d.IntN(20)) + end }
		for _, p := range m.PageParts() {
			list, isText := p.Paragraphs()
			for i := range list {
				if isText[i] && d.chance(0.1) {
					list[i] += " " + hidden() + " "
				}
			}
			p.Body = []byte(strings.Join(list, ""))
			p.Prepend("", style+hidden())
			p.Append("", hidden())
		}
		return true
	}
}

func changePaths(d *draw, m *message.Mail) bool {
	return m.EditLinks(func(scheme, host, _ string) string {
		return scheme + host + "/" + d.token(6) + "/?id=" + d.token(10)
	})
}

func changeHosts(d *draw, m *message.Mail) bool {
	return m.EditLinks(func(scheme, _, rest string) string {
		return scheme + "www." + d.token(9) + ".com" + rest
	})
}
