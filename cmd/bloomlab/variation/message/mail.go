// Package message parses a message into parts that can be changed, and writes it again: its MIME
// tree, the text of each part as a reader sees it, and the pieces of its pages. It owns the form
// of a message. Package variation decides what changes.
package message

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"slices"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/spambloom/spambloom/signature"
)

// Mail is a parsed message. Kinds do not change it; they work on copies.
type Mail struct {
	Name   string            // identifies it, and is a part of the seed
	Header []signature.Field // without what describes the body
	Root   *Part
}

// Part is one MIME part (RFC 2045): several others, or a body.
type Part struct {
	Type     string            // lower case
	Params   map[string]string // of the type; not charset
	Fields   []signature.Field // further Content- fields
	Children []*Part           // of a multipart
	Body     []byte            // decoded; text is UTF-8 with lines that end in LF
	Charset  string            // of text: what it is to be written in
	Encoding string            // 7bit, 8bit, base64 or quoted-printable
}

// maxDepth and maxParts bound a message; Parse refuses one with more.
const (
	maxDepth = 8
	maxParts = 64
)

var errTooMany = fmt.Errorf("more than %d parts, or parts nested deeper than %d", maxParts, maxDepth)

// Parse parses a message. It is strict: a message with broken parts is an error, because
// its copies would differ in more than the variation.
func Parse(name string, raw []byte) (*Mail, error) {
	m := signature.Parse(raw)
	mail := &Mail{Name: name}
	var content []signature.Field
	for _, f := range m.Header {
		switch {
		case hasPrefixFold(f.Name, "content-"):
			content = append(content, f)
		case !strings.EqualFold(f.Name, "mime-version"):
			mail.Header = append(mail.Header, f)
		}
	}
	left := maxParts
	root, err := parsePart(content, m.Body, 0, &left)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	mail.Root = root
	return mail, nil
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func parsePart(fields []signature.Field, body []byte, depth int, left *int) (*Part, error) {
	if *left--; *left < 0 || depth > maxDepth {
		return nil, errTooMany
	}
	p := &Part{Type: "text/plain", Encoding: "7bit", Params: map[string]string{}}
	for _, f := range fields {
		switch strings.ToLower(f.Name) {
		case "content-type":
			if kind, params, err := mime.ParseMediaType(unfold(f.Value)); err == nil || kind != "" {
				p.Type = kind
				maps.Copy(p.Params, params)
			}
		case "content-transfer-encoding":
			p.Encoding = strings.ToLower(strings.TrimSpace(f.Value))
		case "content-length":
		default:
			p.Fields = append(p.Fields, signature.Field{Name: f.Name, Value: unfold(f.Value)})
		}
	}
	if strings.HasPrefix(p.Type, "multipart/") {
		return p, p.parseChildren(body, depth, left)
	}
	return p, p.Decode(body)
}

func unfold(value string) string { return strings.ReplaceAll(value, "\n", "") }

func (p *Part) parseChildren(body []byte, depth int, left *int) error {
	boundary := p.Params["boundary"]
	if boundary == "" {
		return errors.New("multipart without a boundary")
	}
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		raw, err := r.NextRawPart()
		if errors.Is(err, io.EOF) && len(p.Children) > 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("multipart: %w", err)
		}
		content, err := io.ReadAll(raw)
		if err != nil {
			return fmt.Errorf("multipart: %w", err)
		}
		child, err := parsePart(fieldsOf(raw.Header), content, depth+1, left)
		if err != nil {
			return err
		}
		p.Children = append(p.Children, child)
	}
}

// fieldsOf lists a header in the order of its names.
func fieldsOf(header map[string][]string) []signature.Field {
	var fields []signature.Field
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if hasPrefixFold(name, "content-") {
				fields = append(fields, signature.Field{Name: name, Value: value})
			}
		}
	}
	return fields
}

// Decode takes the transfer encoding off, and the charset of text.
func (p *Part) Decode(raw []byte) error {
	var err error
	switch p.Encoding {
	case "base64":
		p.Body, err = io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(raw)))
	case "quoted-printable":
		p.Body, err = io.ReadAll(quotedprintable.NewReader(bytes.NewReader(raw)))
	case "7bit", "8bit", "binary", "":
		p.Body, p.Encoding = raw, "8bit"
	default:
		err = errors.New("not known")
	}
	if err != nil {
		return fmt.Errorf("transfer encoding %.40q: %w", p.Encoding, err)
	}
	if !p.IsText() {
		return nil
	}
	p.Charset = strings.ToLower(p.Params["charset"])
	delete(p.Params, "charset")
	if e, _ := charset.Lookup(p.Charset); e == nil {
		p.Charset = "windows-1252"
	}
	e, _ := charset.Lookup(p.Charset)
	text, err := e.NewDecoder().Bytes(p.Body)
	if err != nil {
		return fmt.Errorf("charset %.40q: %w", p.Charset, err)
	}
	p.Body = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return nil
}

// IsText reports whether a part is text that a reader sees, not an attachment.
func (p *Part) IsText() bool {
	if p.Type != "text/plain" && p.Type != "text/html" {
		return false
	}
	return !slices.ContainsFunc(p.Fields, func(f signature.Field) bool {
		return strings.EqualFold(f.Name, "content-disposition") && hasPrefixFold(strings.TrimSpace(f.Value), "attachment")
	})
}

// TextParts returns the parts that a reader sees.
func (m *Mail) TextParts() []*Part { return m.Root.texts(nil) }

func (p *Part) texts(list []*Part) []*Part {
	if p.IsText() {
		list = append(list, p)
	}
	for _, c := range p.Children {
		list = c.texts(list)
	}
	return list
}

// Text returns the approximate visible text: that of the first text part.
func (m *Mail) Text() string {
	for _, p := range m.TextParts() {
		if text := p.Visible(); strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// Clone returns a copy that shares nothing with the message.
func (m *Mail) Clone() *Mail {
	return &Mail{Name: m.Name, Header: slices.Clone(m.Header), Root: m.Root.Clone()}
}

// Clone returns a copy of the part and of those below it.
func (p *Part) Clone() *Part {
	c := *p
	c.Params, c.Fields, c.Body = maps.Clone(p.Params), slices.Clone(p.Fields), slices.Clone(p.Body)
	c.Children = nil
	for _, child := range p.Children {
		c.Children = append(c.Children, child.Clone())
	}
	return &c
}

// Field is the value of a header field of the message, and its place or -1.
func (m *Mail) Field(name string) (string, int) {
	for i, f := range m.Header {
		if strings.EqualFold(f.Name, name) {
			return unfold(f.Value), i
		}
	}
	return "", -1
}

// SetField sets a field of the header, or adds it.
func (m *Mail) SetField(name, value string) {
	if _, i := m.Field(name); i >= 0 {
		m.Header[i].Value = value
		return
	}
	m.Header = append(m.Header, signature.Field{Name: name, Value: value})
}

// Words returns the number of words that a reader sees.
func (m *Mail) Words() int { return len(WordsOf(m.Text())) }
