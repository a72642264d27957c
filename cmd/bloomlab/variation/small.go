package variation

import (
	"fmt"
	"strings"
	"unicode"
)

func changeSubject(d *draw, m *Mail) bool {
	subject := d.words(4)
	if subject == "" {
		subject = d.token(12)
	}
	m.setField("Subject", subject)
	return true
}

// appendAll adds text at the end of every text part.
func (m *Mail) appendAll(text string) bool {
	for _, p := range m.texts() {
		p.append(text, paragraph(text))
	}
	return len(m.texts()) > 0
}

func (m *Mail) prependAll(text string) bool {
	for _, p := range m.texts() {
		p.prepend(text, paragraph(text))
	}
	return len(m.texts()) > 0
}

func addToken(d *draw, m *Mail) bool {
	subject, _ := m.field("Subject")
	token := d.token(8 + d.IntN(8))
	m.setField("Subject", subject+"   "+token)
	return m.appendAll(token)
}

// addTokens puts a token of its own line after every fourth paragraph or line.
func addTokens(d *draw, m *Mail) bool {
	changed := false
	for _, p := range m.texts() {
		list, isText := p.paragraphs()
		for i := range list {
			if !isText[i] || !d.chance(0.25) {
				continue
			}
			changed = true
			if p.Type == "text/html" {
				list[i] += "<br>" + d.token(10) + "<br>"
			} else {
				list[i] += "\n" + d.token(10)
			}
		}
		p.Body = []byte(strings.Join(list, ""))
	}
	return m.appendAll(d.token(10)) || changed
}

func changeDigits(d *draw, m *Mail) bool {
	return m.editLetters(func(r rune) string {
		if r >= '0' && r <= '9' {
			return string('0' + (r-'0'+1+rune(d.IntN(9)))%10)
		}
		return string(r)
	})
}

func addFooter(d *draw, m *Mail) bool {
	list := d.token(6)
	return m.appendAll(fmt.Sprintf("_______________________________________________\n%s mailing list\n%s@lists.example.org\nhttp://lists.example.org/mailman/listinfo/%s", list, list, list))
}

// salute begins with a name and repeats it twice, after full stops.
func salute(d *draw, m *Mail) bool {
	name := one(d, names)
	m.editSentences(func(list []string) []string {
		for range min(2, len(list)) {
			i := d.IntN(len(list))
			list[i] = name + ", " + list[i]
		}
		return list
	})
	return m.prependAll("Dear " + name + ",")
}

func numberLines(_ *draw, m *Mail) bool {
	for _, p := range m.texts() {
		n := 0
		list, isText := p.paragraphs()
		if p.Type != "text/html" {
			list = strings.SplitAfter(string(p.Body), "\n")
			isText = make([]bool, len(list))
			for i, line := range list {
				isText[i] = strings.TrimSpace(line) != ""
			}
		}
		for i := range list {
			if isText[i] {
				n++
				list[i] = fmt.Sprintf("%d. %s", n, list[i])
			}
		}
		p.Body = []byte(strings.Join(list, ""))
	}
	return len(m.texts()) > 0
}

// forward is what a reader's mail program makes of a forwarded message.
func forward(d *draw, m *Mail) bool {
	text := strings.TrimRightFunc(m.Text(), unicode.IsSpace)
	if text == "" {
		return false
	}
	subject, _ := m.field("Subject")
	m.setField("Subject", "Fwd: "+subject)
	name := one(d, names)
	m.Root = textPart("text/plain", "Look at what I was sent today.\n\n"+name+" wrote:\n\n> "+strings.ReplaceAll(wrap(text, 72), "\n", "\n> ")+"\n\nRegards,\n"+one(d, names)+"\n")
	return true
}
