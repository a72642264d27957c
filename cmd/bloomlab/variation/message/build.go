package message

import (
	"fmt"

	"github.com/spambloom/spambloom/signature"
)

// WrapIn makes the body the first part of a multipart.
func (m *Mail) WrapIn(kind string) {
	m.Root = &Part{Type: kind, Params: map[string]string{}, Children: []*Part{m.Root}}
}

// Add adds a part at the end of a multipart/mixed.
func (m *Mail) Add(p *Part) {
	if m.Root.Type != "multipart/mixed" {
		m.WrapIn("multipart/mixed")
	}
	m.Root.Children = append(m.Root.Children, p)
}

// TextPart returns a part with a text.
func TextPart(kind, text string) *Part {
	return &Part{Type: kind, Params: map[string]string{}, Body: []byte(text), Charset: "utf-8", Encoding: "8bit"}
}

// FilePart returns a part with an attached file.
func FilePart(kind, name string, body []byte) *Part {
	return &Part{Type: kind, Params: map[string]string{"name": name}, Body: body, Encoding: "base64",
		Fields: []signature.Field{{Name: "Content-Disposition", Value: fmt.Sprintf("attachment; filename=%q", name)}}}
}

// AppendAll adds text at the end of every text part.
func (m *Mail) AppendAll(text string) bool {
	for _, p := range m.TextParts() {
		p.Append(text, Paragraph(text))
	}
	return len(m.TextParts()) > 0
}

// PrependAll adds text at the beginning of every text part.
func (m *Mail) PrependAll(text string) bool {
	for _, p := range m.TextParts() {
		p.Prepend(text, Paragraph(text))
	}
	return len(m.TextParts()) > 0
}
