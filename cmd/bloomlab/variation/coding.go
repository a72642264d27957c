package variation

import (
	"bytes"
	"image/color"
	"image/png"
	"strings"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
)

// rewrap breaks plain text at another width, and the source of HTML at blanks.
func rewrap(d *draw, m *message.Mail) bool {
	width := 40 + d.IntN(50)
	for _, p := range m.TextParts() {
		list := p.Pieces()
		for i := range list {
			if list[i].Read {
				list[i].Source = wrap(list[i].Source, width)
			}
		}
		p.SetPieces(list)
	}
	return len(m.TextParts()) > 0
}

// wrap keeps empty lines and the blanks at both ends.
func wrap(text string, width int) string {
	blocks := strings.Split(text, "\n\n")
	for i, block := range blocks {
		body := strings.TrimSpace(block)
		if body == "" {
			continue
		}
		at := strings.Index(block, body)
		var out strings.Builder
		column := 0
		for k, w := range message.WordsOf(body) {
			switch {
			case k == 0:
			case column+len(w) > width:
				out.WriteByte('\n')
				column = 0
			default:
				out.WriteByte(' ')
				column++
			}
			out.WriteString(w)
			column += len(w)
		}
		blocks[i] = block[:at] + out.String() + block[at+len(body):]
	}
	return strings.Join(blocks, "\n\n")
}

func recode(encoding string) func(*draw, *message.Mail) bool {
	return func(_ *draw, m *message.Mail) bool {
		for _, p := range m.TextParts() {
			p.Encoding = encoding
		}
		return len(m.TextParts()) > 0
	}
}

// recharset writes text in the charset, or in the other one where it has it.
func recharset(name, other string) func(*draw, *message.Mail) bool {
	return func(_ *draw, m *message.Mail) bool {
		for _, p := range m.TextParts() {
			if p.Charset == name {
				p.Charset = other
			} else {
				p.Charset = name
			}
			if strings.HasPrefix(p.Charset, "utf-16") {
				p.Encoding = "base64"
			}
		}
		return len(m.TextParts()) > 0
	}
}

func reboundary(d *draw, m *message.Mail) bool {
	if len(m.Root.Children) == 0 {
		m.WrapIn("multipart/mixed")
	}
	renameBoundaries(d, m.Root)
	return true
}

func renameBoundaries(d *draw, p *message.Part) {
	if len(p.Children) > 0 {
		p.Params["boundary"] = "----=_" + d.token(20)
	}
	for _, c := range p.Children {
		renameBoundaries(d, c)
	}
}

// splitParts cuts every plain text in two or three parts, at empty lines or line ends.
func splitParts(d *draw, m *message.Mail) bool {
	texts := m.TextParts()
	if len(texts) == 0 {
		return false
	}
	p := texts[0]
	text := p.Visible()
	lines := strings.SplitAfter(text, "\n")
	if len(lines) < 4 {
		lines = message.Sentences(text)
	}
	if len(lines) < 4 {
		return false
	}
	n := 2 + d.IntN(2)
	root := &message.Part{Type: "multipart/mixed", Params: map[string]string{}}
	for i := range n {
		cut := strings.Join(lines[i*len(lines)/n:(i+1)*len(lines)/n], "")
		root.Children = append(root.Children, message.TextPart("text/plain", cut))
	}
	m.Root = root
	return true
}

// addAlternative puts the message beside a plain text with other content.
func addAlternative(d *draw, m *message.Mail) bool {
	texts := m.TextParts()
	if len(texts) == 0 || len(d.from.Words) == 0 {
		return false
	}
	page := message.TextPart("text/html", string(texts[len(texts)-1].Body))
	if texts[len(texts)-1].Type != "text/html" {
		page.Body = []byte("<html><body>" + asHTML(string(page.Body)) + "</body></html>")
	}
	plain := message.TextPart("text/plain", d.words(8+d.IntN(15))+"\n")
	m.Root = &message.Part{Type: "multipart/alternative", Params: map[string]string{}, Children: []*message.Part{plain, page}}
	return true
}

func addAttachment(d *draw, m *message.Mail) bool {
	body := make([]byte, 2000+d.IntN(4000))
	for i := range body {
		body[i] = byte(d.Uint32())
	}
	m.Add(message.FilePart("application/octet-stream", d.token(8)+".bin", body))
	return true
}

func addImage(d *draw, m *message.Mail) bool {
	img := newCanvas(80+d.IntN(60), 60+d.IntN(60))
	for range 300 {
		img.SetGray(d.IntN(img.Rect.Max.X), d.IntN(img.Rect.Max.Y), color.Gray{Y: byte(d.Uint32())})
	}
	var out bytes.Buffer
	_ = png.Encode(&out, img) // writing to a buffer cannot fail
	m.Add(message.FilePart("image/png", d.token(8)+".png", out.Bytes()))
	return true
}
