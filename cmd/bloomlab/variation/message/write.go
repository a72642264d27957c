package message

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"mime"
	"mime/quotedprintable"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"
)

// Raw writes the message down (RFC 5322, RFC 2045) with lines that end in LF, as
// a mailbox has it.
func (m *Mail) Raw() []byte {
	var out bytes.Buffer
	for _, f := range m.Header {
		fmt.Fprintf(&out, "%s: %s\n", f.Name, f.Value)
	}
	out.WriteString("MIME-Version: 1.0\n")
	m.Root.write(&out, "1")
	return out.Bytes()
}

// write writes the part's own fields, an empty line and its body. Its path among
// the parts makes boundaries differ where the part has none.
func (p *Part) write(out *bytes.Buffer, path string) {
	params := maps.Clone(p.Params)
	var body []byte
	encoding := p.Encoding
	switch {
	case len(p.Children) > 0:
		if params["boundary"] == "" {
			params["boundary"] = "=_part_" + path
		}
		body, encoding = p.writeChildren(params["boundary"], path), ""
	case p.IsText():
		body, params["charset"] = p.EncodeText()
		encoding = sendable(encoding, body)
	default:
		body = p.Body
		encoding = sendable(encoding, body)
	}
	contentType := mime.FormatMediaType(p.Type, params)
	if contentType == "" {
		contentType = p.Type // parameters that cannot be written
	}
	fmt.Fprintf(out, "Content-Type: %s\n", contentType)
	if encoding != "" {
		fmt.Fprintf(out, "Content-Transfer-Encoding: %s\n", encoding)
	}
	for _, f := range p.Fields {
		fmt.Fprintf(out, "%s: %s\n", f.Name, f.Value)
	}
	out.WriteByte('\n')
	out.Write(transferEncode(encoding, body))
}

func (p *Part) writeChildren(boundary, path string) []byte {
	var out bytes.Buffer
	for i, c := range p.Children {
		fmt.Fprintf(&out, "--%s\n", boundary)
		c.write(&out, fmt.Sprintf("%s_%d", path, i+1))
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "--%s--\n", boundary)
	return out.Bytes()
}

// EncodeText writes text in its charset, or in UTF-8 where that lacks a letter: an
// HTML form's encoder, which writes such a letter as an entity, does not suit mail.
func (p *Part) EncodeText() (text []byte, name string) {
	e, err := htmlindex.Get(p.Charset)
	if err != nil || p.Charset == "utf-8" {
		return p.Body, "utf-8"
	}
	text, _, err = transform.Bytes(e.NewEncoder(), p.Body)
	if err != nil {
		return p.Body, "utf-8"
	}
	return text, p.Charset
}

// MaxLine is the longest line that a mail server must take, without its end (RFC
// 5322 section 2.1.1).
const MaxLine = 998

// sendable is an encoding in which the bytes survive a mail server: the one
// that is asked for, or a safe one.
func sendable(encoding string, body []byte) string {
	if encoding == "base64" || encoding == "quoted-printable" {
		return encoding
	}
	if bytes.IndexByte(body, 0) >= 0 {
		return "base64"
	}
	for line := range bytes.Lines(body) {
		if len(line) > MaxLine {
			return "quoted-printable"
		}
	}
	if bytes.ContainsFunc(body, func(r rune) bool { return r >= 0x80 }) {
		return "8bit"
	}
	return "7bit"
}

func transferEncode(encoding string, body []byte) []byte {
	var out bytes.Buffer
	switch encoding {
	case "base64":
		text := base64.StdEncoding.EncodeToString(body)
		for len(text) > 76 {
			out.WriteString(text[:76] + "\n")
			text = text[76:]
		}
		out.WriteString(text + "\n")
	case "quoted-printable":
		w := quotedprintable.NewWriter(&out)
		_, _ = w.Write(body) // writing to a buffer cannot fail
		_ = w.Close()
		return bytes.ReplaceAll(out.Bytes(), []byte("\r\n"), []byte("\n"))
	default:
		return body
	}
	return out.Bytes()
}

// EscapeText makes HTML of text.
func EscapeText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
