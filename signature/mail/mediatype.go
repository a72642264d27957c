package mail

import (
	"bytes"
	"cmp"
	"mime"
	"slices"
	"strings"
)

// maxField bounds the value of a MIME field, in bytes. A longer one counts as absent. Postfix passes
// on 100 KiB of a field, and other servers as much as fits into a packet of the milter protocol.
const maxField = 1 << 20

// maxStrict bounds a Content-Type that is read by the grammar, which takes memory for each parameter.
const maxStrict = 64 << 10

// mimeHeader is a part's header as far as it describes the content.
type mimeHeader struct {
	MediaType   string   // lower case, "text/plain" if absent or senseless
	boundaries  []string // the readings of the boundary; several if mail programs differ
	Charset     string   // lower case
	encoding    string   // Content-Transfer-Encoding, lower case
	other       string   // another reading of it; "": programs agree
	isDoubtful  bool     // programs differ in whether it is a multipart
	Disposition string   // lower case
	HasID       bool     // a Content-ID, by which HTML shows the part
	id          string   // the Content-ID without <>
	IsJoined    bool     // lines that end in a blank go on without it (RFC 3676)
	start       string   // of a multipart: Content-ID of the part that is shown, without <>
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

// parse reads the fields, strictly if possible. Comments are removed, as RFC 2045 asks; some programs
// do not do that, so both readings count where they differ.
func (f *mimeFields) parse() mimeHeader {
	h := mimeHeader{MediaType: "text/plain", encoding: transferEncoding(f.encoding)}
	readings := []string{withoutComments(f.encoding)}
	if f.otherEncoding != "" {
		readings = append(readings, f.otherEncoding)
	}
	for _, other := range readings {
		if other = transferEncoding(other); other != h.encoding && !(isIdentity(other) && isIdentity(h.encoding)) {
			h.other = cmp.Or(other, "7bit")
		}
	}
	f.parseType(&h)
	h.Disposition = disposition(f.disposition)
	h.HasID = strings.TrimSpace(f.id) != ""
	h.id = contentID(f.id)
	return h
}

// parseType reads the Content-Type.
func (f *mimeFields) parseType(h *mimeHeader) {
	if f.contentType == "" {
		return
	}
	value := withoutComments(f.contentType)
	mediaType, params := parseContentType(value)
	h.MediaType = mediaType
	isMultipart := strings.HasPrefix(mediaType, "multipart/")
	if isMultipart {
		h.boundaries = boundaries(nil, value, params["boundary"])
	}
	if value != f.contentType {
		mediaType, params := parseContentType(f.contentType)
		h.isDoubtful = isMultipart && mediaType != h.MediaType
		if isMultipart {
			h.boundaries = boundaries(h.boundaries, f.contentType, params["boundary"])
		}
	}
	h.Charset = strings.ToLower(strings.TrimSpace(params["charset"]))
	h.start = contentID(params["start"])
	h.IsJoined = strings.EqualFold(params["format"], "flowed") && strings.EqualFold(params["delsp"], "yes")
}

// disposition returns the first word of a Content-Disposition, lower case.
func disposition(value string) string {
	value = strings.TrimSpace(withoutComments(value))
	return strings.ToLower(value[:strings.IndexAny(value+";", "; \t")])
}

// withoutComments returns a structured field without comments (RFC 5322 section 3.2.2) and without
// blanks around the slash of a type. From a comment on that does not end, it stays as it is.
func withoutComments(value string) string {
	var b strings.Builder
	for rest := value; rest != ""; {
		n := 1 + strings.IndexAny(rest[1:]+`"`, `"(`)
		switch rest[0] {
		case '(':
			if n = commentEnd(rest); n > 0 {
				rest = rest[n:]
				continue
			}
			n = len(rest)
		case '"':
			n = min(len(rest), 2+quoteEnd(rest[1:]))
		}
		b.WriteString(rest[:n])
		rest = rest[n:]
	}
	plain := strings.TrimLeft(b.String(), " \t")
	if slash := strings.IndexAny(plain, `/;="`); slash >= 0 && plain[slash] == '/' {
		plain = strings.TrimRight(plain[:slash], " \t") + "/" + strings.TrimLeft(plain[slash+1:], " \t")
	}
	return plain
}

// commentEnd returns where the comment ends that s begins with; 0 if it does not end.
func commentEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case '\\':
			i++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
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
// mail programs read those too. Encoded words (RFC 2047) in parameters stay as they are, as in mail programs.
func parseContentType(value string) (mediaType string, params map[string]string) {
	err := mime.ErrInvalidMediaParameter
	if len(value) <= maxStrict {
		mediaType, params, err = mime.ParseMediaType(value)
	}
	if err != nil {
		mediaType, params = looseContentType(value)
	}
	if !strings.Contains(mediaType, "/") {
		mediaType = "text/plain"
	}
	return mediaType, params
}

// usedParams are the parameters of a Content-Type that are read.
var usedParams = map[string]bool{"boundary": true, "charset": true, "start": true, "format": true, "delsp": true}

// looseContentType takes the text before the first separator as the type, and the text
// between semicolons as parameters. The first of a name counts.
func looseContentType(value string) (mediaType string, params map[string]string) {
	mediaType, rest := cutMediaType(value)
	params = make(map[string]string)
	for rest != "" {
		var param string
		param, rest = cutParam(rest)
		name, val, ok := strings.Cut(param, "=")
		name = strings.ToLower(strings.Trim(name, " \t,"))
		if _, dup := params[name]; ok && !dup && usedParams[name] {
			params[name] = unquote(strings.TrimSpace(val))
		}
	}
	return mediaType, params
}

// cutMediaType cuts at the first separator.
func cutMediaType(value string) (mediaType, params string) {
	value = strings.TrimSpace(value)
	end := strings.IndexAny(value, ";, \t(")
	if end < 0 {
		end = len(value)
	}
	return strings.ToLower(value[:end]), value[end:]
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

// boundaries returns what programs may take for the boundary of a multipart: what the grammar
// gives, and what those read that stop at a blank, keep or drop backslashes, see quotes in the middle
// of a value or not, and believe the first or the last of several parameters.
// It appends them to list.
func boundaries(list []string, value, strict string) []string {
	add := func(reading string) {
		if reading = strings.TrimRight(reading, " \t"); reading != "" && len(reading) <= maxBoundary && !slices.Contains(list, reading) {
			list = append(list, reading)
		}
	}
	add(strict)
	for _, cut := range []func(string) (param, rest string){cutParam, cutPlainParam} {
		first, last := "", ""
		extended := []byte("multipart/mixed")
		for _, rest := cutMediaType(value); rest != ""; {
			var param string
			param, rest = cut(rest)
			name, val, _ := strings.Cut(param, "=")
			switch name = strings.ToLower(strings.Trim(name, " \t,;")); {
			case name == "boundary":
				first, last = cmp.Or(first, val), val
			case strings.HasPrefix(name, "boundary*") && len(extended)+len(param) < maxStrict: // RFC 2231
				extended = append(append(extended, ';'), param...)
			}
		}
		_, params, _ := mime.ParseMediaType(string(extended))
		add(params["boundary"])
		for _, val := range []string{first, last} {
			val = strings.Trim(val, " \t")
			add(unquote(val))
			if inside, isQuoted := strings.CutPrefix(val, `"`); isQuoted {
				add(inside[:quoteEnd(inside)])
			} else {
				add(val[:strings.IndexAny(val+" ", " \t")])
			}
		}
	}
	return list
}

// cutPlainParam is cutParam for programs that see a quote only where a value begins.
func cutPlainParam(s string) (param, rest string) {
	end := 0
	if at := strings.IndexAny(s, "=;"); at >= 0 && s[at] == '=' {
		end = at + 1 + len(s[at+1:]) - len(strings.TrimLeft(s[at+1:], " \t"))
		if end < len(s) && s[end] == '"' && quoteEnd(s[end+1:]) < len(s[end+1:]) {
			end += 1 + quoteEnd(s[end+1:])
		}
	}
	semicolon := strings.IndexByte(s[end:], ';')
	if semicolon < 0 {
		return s, ""
	}
	return s[:end+semicolon], s[end+semicolon+1:]
}

// quoteEnd returns the index of the quote that ends a quoted string, or the length of s.
func quoteEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(s)
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
