package mail

import (
	"bytes"
	"strings"

	"github.com/emersion/go-message"
)

// maxField bounds the value of a MIME field, in bytes. A longer one counts as absent.
const maxField = 64 << 10

// mimeHeader is a part's header as far as it describes the content.
type mimeHeader struct {
	MediaType   string // lower case, "text/plain" if absent or senseless
	boundary    string
	Charset     string // lower case
	encoding    string // Content-Transfer-Encoding, lower case
	isDoubtful  bool   // further fields name another encoding
	Disposition string // lower case
	HasID       bool   // a Content-ID, by which HTML shows the part
	id          string // the Content-ID without <>
	start       string // of a multipart: Content-ID of the part that is shown, without <>
}

// mimeFields are the MIME fields of a header. The first of each name counts.
type mimeFields struct {
	contentType, encoding, disposition, id string
	otherEncoding                          string // of a further field
}

func (f *mimeFields) slot(name string) *string {
	const prefix = "content-"
	name = strings.TrimRight(name, " \t") // a milter's names have them
	if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
		return nil
	}
	switch rest := name[len(prefix):]; {
	case strings.EqualFold(rest, "type"):
		return &f.contentType
	case strings.EqualFold(rest, "transfer-encoding"):
		return &f.encoding
	case strings.EqualFold(rest, "disposition"):
		return &f.disposition
	case strings.EqualFold(rest, "id"):
		return &f.id
	}
	return nil
}

func (f *mimeFields) add(name, value string) {
	slot := f.slot(name)
	if slot == &f.encoding && *slot != "" {
		slot = &f.otherEncoding
	}
	if slot != nil && *slot == "" {
		if value = unfold.Replace(value); len(value) <= maxField {
			*slot = value
		}
	}
}

var unfold = strings.NewReplacer("\r", "", "\n", "")

// parse reads the fields, strictly if possible.
func (f *mimeFields) parse() mimeHeader {
	h := mimeHeader{MediaType: "text/plain", encoding: transferEncoding(f.encoding)}
	h.isDoubtful = f.otherEncoding != "" && transferEncoding(f.otherEncoding) != h.encoding
	if f.contentType != "" {
		mediaType, params := parseContentType(f.contentType)
		h.MediaType = mediaType
		h.boundary = strings.TrimRight(params["boundary"], " \t")
		h.Charset = strings.ToLower(strings.TrimSpace(params["charset"]))
		h.start = contentID(params["start"])
	}
	disposition, _, _ := strings.Cut(f.disposition, ";")
	h.Disposition = strings.ToLower(strings.TrimSpace(disposition))
	h.HasID = strings.TrimSpace(f.id) != ""
	h.id = contentID(f.id)
	return h
}

// contentID returns a Content-ID without the <>, which some programs leave out.
func contentID(value string) string { return strings.Trim(value, "<> \t") }

func messageMIME(fields []Field) mimeHeader {
	var f mimeFields
	for _, field := range fields {
		f.add(field.Name, field.Value)
	}
	return f.parse()
}

// partMIME reads a header at the beginning of data, and returns where the body begins.
func partMIME(data []byte, stop func(line []byte) bool) (mimeHeader, int) {
	s := fieldScanner{data: data, stop: stop}
	var f mimeFields
	for {
		name, value, ok := s.next()
		if !ok {
			return f.parse(), s.pos
		}
		if f.slot(string(name)) != nil { // others are not copied
			f.add(string(name), string(bytes.TrimSpace(value)))
		}
	}
}

// parseContentType reads a Content-Type (RFC 2045 section 5.1). One that breaks the
// grammar, for example by an unquoted boundary with a "=" in it, loses no parameters:
// mail programs read those too.
func parseContentType(value string) (mediaType string, params map[string]string) {
	var h message.Header
	h.Set("Content-Type", value)
	mediaType, params, err := h.ContentType()
	if err != nil {
		mediaType, params = looseContentType(value)
	}
	if !strings.Contains(mediaType, "/") {
		mediaType = "text/plain"
	}
	return mediaType, params
}

// looseContentType takes the text before the first separator as the type, and the text
// between semicolons as parameters. The first of a name counts.
func looseContentType(value string) (mediaType string, params map[string]string) {
	value = strings.TrimSpace(value)
	end := strings.IndexAny(value, ";, \t(")
	if end < 0 {
		return strings.ToLower(value), nil
	}
	params = make(map[string]string)
	for rest := value[end:]; rest != ""; {
		var param string
		param, rest = cutParam(rest)
		name, val, ok := strings.Cut(param, "=")
		name = strings.ToLower(strings.Trim(name, " \t,"))
		if _, dup := params[name]; ok && !dup {
			params[name] = unquote(strings.TrimSpace(val))
		}
	}
	return strings.ToLower(value[:end]), params
}

// cutParam cuts at the first semicolon outside quotes. A quote that is never closed does
// not count.
func cutParam(s string) (param, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"' && (quoted || strings.IndexByte(s[i+1:], '"') >= 0):
			quoted = !quoted
		case s[i] == '\\' && quoted:
			i++
		case s[i] == ';' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func unquote(s string) string {
	s, ok := strings.CutPrefix(s, `"`)
	if !ok {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// transferEncoding returns the leading token of the field: "base64;" and "base64 (x)" and
// "\"base64\"" all occur, and mail programs decode them.
func transferEncoding(value string) string {
	value = strings.Trim(strings.ToLower(value), "\"' \t")
	end := strings.IndexFunc(value, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
	if end >= 0 {
		value = value[:end]
	}
	return value
}
