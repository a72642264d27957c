package variation

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
)

func changeSubject(d *draw, m *message.Mail) bool {
	subject := d.words(4)
	if subject == "" {
		subject = d.token(12)
	}
	m.SetField("Subject", subject)
	return true
}

func addToken(d *draw, m *message.Mail) bool {
	subject, _ := m.Field("Subject")
	token := d.token(8 + d.IntN(8))
	m.SetField("Subject", subject+"   "+token)
	return m.AppendAll(token)
}

// addTokens puts a token of its own line after every fourth paragraph or line.
func addTokens(d *draw, m *message.Mail) bool {
	changed := false
	for _, p := range m.TextParts() {
		list, isText := p.Paragraphs()
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
	return m.AppendAll(d.token(10)) || changed
}

func changeDigits(d *draw, m *message.Mail) bool {
	return m.EditLetters(func(r rune) string {
		if r >= '0' && r <= '9' {
			return string('0' + (r-'0'+1+rune(d.IntN(9)))%10)
		}
		return string(r)
	})
}

func addFooter(d *draw, m *message.Mail) bool {
	list := d.token(6)
	return m.AppendAll(fmt.Sprintf("_______________________________________________\n%s mailing list\n%s@lists.example.org\nhttp://lists.example.org/mailman/listinfo/%s", list, list, list))
}

// salute begins with a name and repeats it twice, after full stops.
func salute(d *draw, m *message.Mail) bool {
	name := one(d, names)
	m.EditSentences(func(list []string) []string {
		for range min(2, len(list)) {
			i := d.IntN(len(list))
			list[i] = name + ", " + list[i]
		}
		return list
	})
	return m.PrependAll("Dear " + name + ",")
}

func numberLines(_ *draw, m *message.Mail) bool {
	for _, p := range m.TextParts() {
		n := 0
		list, isText := p.Paragraphs()
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
	return len(m.TextParts()) > 0
}

// forward is what a reader's mail program makes of a forwarded message.
func forward(d *draw, m *message.Mail) bool {
	text := strings.TrimRightFunc(m.Text(), unicode.IsSpace)
	if text == "" {
		return false
	}
	subject, _ := m.Field("Subject")
	m.SetField("Subject", "Fwd: "+subject)
	name := one(d, names)
	m.Root = message.TextPart("text/plain", "Look at what I was sent today.\n\n"+name+" wrote:\n\n> "+strings.ReplaceAll(wrap(text, 72), "\n", "\n> ")+"\n\nRegards,\n"+one(d, names)+"\n")
	return true
}
