package variation

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"strings"

	"github.com/spambloom/spambloom/signature"
)

// rewrap breaks plain text at another width, and the source of HTML at blanks.
func rewrap(d *draw, m *Mail) bool {
	width := 40 + d.IntN(50)
	for _, p := range m.texts() {
		list := p.pieces()
		for i := range list {
			if list[i].read {
				list[i].source = wrap(list[i].source, width)
			}
		}
		p.setPieces(list)
	}
	return len(m.texts()) > 0
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
		for k, w := range words(body) {
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

func recode(encoding string) func(*draw, *Mail) bool {
	return func(_ *draw, m *Mail) bool {
		for _, p := range m.texts() {
			p.Encoding = encoding
		}
		return len(m.texts()) > 0
	}
}

// recharset writes text in the charset, or in the other one where it has it.
func recharset(name, other string) func(*draw, *Mail) bool {
	return func(_ *draw, m *Mail) bool {
		for _, p := range m.texts() {
			if p.Charset == name {
				p.Charset = other
			} else {
				p.Charset = name
			}
			if strings.HasPrefix(p.Charset, "utf-16") {
				p.Encoding = "base64"
			}
		}
		return len(m.texts()) > 0
	}
}

func reboundary(d *draw, m *Mail) bool {
	if len(m.Root.Children) == 0 {
		m.wrapIn("multipart/mixed")
	}
	m.Root.renameBoundaries(d)
	return true
}

func (p *Part) renameBoundaries(d *draw) {
	if len(p.Children) > 0 {
		p.Params["boundary"] = "----=_" + d.token(20)
	}
	for _, c := range p.Children {
		c.renameBoundaries(d)
	}
}

// wrapIn makes the body the first part of a multipart.
func (m *Mail) wrapIn(kind string) {
	m.Root = &Part{Type: kind, Params: map[string]string{}, Children: []*Part{m.Root}}
}

// add adds a part at the end of a multipart/mixed.
func (m *Mail) add(p *Part) {
	if m.Root.Type != "multipart/mixed" {
		m.wrapIn("multipart/mixed")
	}
	m.Root.Children = append(m.Root.Children, p)
}

func textPart(kind, text string) *Part {
	return &Part{Type: kind, Params: map[string]string{}, Body: []byte(text), Charset: "utf-8", Encoding: "8bit"}
}

func filePart(kind, name string, body []byte) *Part {
	return &Part{Type: kind, Params: map[string]string{"name": name}, Body: body, Encoding: "base64",
		Fields: []signature.Field{{Name: "Content-Disposition", Value: fmt.Sprintf("attachment; filename=%q", name)}}}
}

// splitParts cuts every plain text in two or three parts, at empty lines or line ends.
func splitParts(d *draw, m *Mail) bool {
	texts := m.texts()
	if len(texts) == 0 {
		return false
	}
	p := texts[0]
	text := p.visible()
	lines := strings.SplitAfter(text, "\n")
	if len(lines) < 4 {
		lines = sentences(text)
	}
	if len(lines) < 4 {
		return false
	}
	n := 2 + d.IntN(2)
	root := &Part{Type: "multipart/mixed", Params: map[string]string{}}
	for i := range n {
		cut := strings.Join(lines[i*len(lines)/n:(i+1)*len(lines)/n], "")
		root.Children = append(root.Children, textPart("text/plain", cut))
	}
	m.Root = root
	return true
}

// addAlternative puts the message beside a plain text with other content.
func addAlternative(d *draw, m *Mail) bool {
	texts := m.texts()
	if len(texts) == 0 || len(d.from.Words) == 0 {
		return false
	}
	page := textPart("text/html", string(texts[len(texts)-1].Body))
	if texts[len(texts)-1].Type != "text/html" {
		page.Body = []byte("<html><body>" + asHTML(string(page.Body)) + "</body></html>")
	}
	plain := textPart("text/plain", d.words(8+d.IntN(15))+"\n")
	m.Root = &Part{Type: "multipart/alternative", Params: map[string]string{}, Children: []*Part{plain, page}}
	return true
}

func addAttachment(d *draw, m *Mail) bool {
	body := make([]byte, 2000+d.IntN(4000))
	for i := range body {
		body[i] = byte(d.Uint32())
	}
	m.add(filePart("application/octet-stream", d.token(8)+".bin", body))
	return true
}

func addImage(d *draw, m *Mail) bool {
	img := newCanvas(80+d.IntN(60), 60+d.IntN(60))
	for range 300 {
		img.SetGray(d.IntN(img.Rect.Max.X), d.IntN(img.Rect.Max.Y), color.Gray{Y: byte(d.Uint32())})
	}
	var out bytes.Buffer
	_ = png.Encode(&out, img) // writing to a buffer cannot fail
	m.add(filePart("image/png", d.token(8)+".png", out.Bytes()))
	return true
}
