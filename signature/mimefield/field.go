package mimefield

import (
	"mime"
	"strings"
)

// maxStrict bounds a Content-Type that is read by the grammar, which takes memory for each parameter.
const maxStrict = 64 << 10

// ContentType reads a Content-Type (RFC 2045 section 5.1). One that breaks the
// grammar, for example by an unquoted boundary with a "=" in it, loses no parameters:
// mail programs read those too. Encoded words (RFC 2047) in parameters stay as they are, as in mail programs.
func ContentType(value string) (mediaType string, params map[string]string) {
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

// Disposition returns the first word of a Content-Disposition, lower case.
func Disposition(value string) string {
	value = strings.TrimSpace(WithoutComments(value))
	return strings.ToLower(value[:strings.IndexAny(value+";", "; \t")])
}

// WithoutComments returns a structured field without comments (RFC 5322 section 3.2.2) and without
// blanks around the slash of a type. From a comment on that does not end, it stays as it is.
func WithoutComments(value string) string {
	var b strings.Builder
	for rest := value; rest != ""; {
		n := len(rest)
		switch rest[0] {
		case '(':
			if end := commentEnd(rest); end > 0 {
				rest = rest[end:]
				continue
			}
		case '"':
			n = min(n, 2+quoteEnd(rest[1:]))
		default:
			if next := strings.IndexAny(rest, `"(`); next > 0 {
				n = next
			}
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

// TransferEncoding returns the leading token of the field: "base64;" and "base64 (x)" and
// "\"base64\"" all occur, and mail programs decode them.
func TransferEncoding(value string) string {
	value = strings.Trim(strings.ToLower(value), "\"' \t")
	end := strings.IndexFunc(value, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
	if end >= 0 {
		value = value[:end]
	}
	return value
}
