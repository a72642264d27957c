// Package css prepares the text of style sheets and attributes, so that their blocks and declarations can be
// told apart by signs. It has the sheets that stand in data URLs.
package css

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"

	"github.com/spambloom/spambloom/signature/ascii"
)

// Clean returns CSS without comments, and with escapes of letters decoded (CSS Syntax, section 4.3.7), in lower
// case; text itself if it has neither, nor strings. Escapes of other characters become "_", which is in no name
// that matters. Signs in strings and URLs become others; see Restore.
func Clean(text []byte) []byte {
	if !bytes.Contains(text, []byte("/*")) && !bytes.ContainsAny(text, "\\\"'(") {
		return text
	}
	out := make([]byte, 0, len(text))
	var end byte // of a string or URL
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\\':
			r, size := escape(text[i:])
			out = utf8.AppendRune(out, r)
			i += size
			continue
		case end != 0:
			if c == end || c == '\n' && end != ')' {
				end = 0
			} else if at := bytes.IndexByte(signs, c); at >= 0 {
				c = byte(1 + at)
			}
		case c == '"' || c == '\'':
			end = c
		case c == '(' && isURL(out, text[i+1:]):
			end = ')'
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			end := bytes.Index(text[i+2:], []byte("*/"))
			if end < 0 {
				return out
			}
			out = append(out, ' ')
			i += end + 4
			continue
		}
		out = append(out, c)
		i++
	}
	return out
}

// signs are those that end a block or declaration, or begin a rule.
var signs = []byte("{};@:")

// Restore returns the text of a string or URL of clean text as it stood there.
func Restore(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if 1 <= r && int(r) <= len(signs) {
			return rune(signs[r-1])
		}
		return r
	}, text)
}

// isURL reports whether a parenthesis begins a URL without quotes.
func isURL(before, behind []byte) bool {
	behind = bytes.TrimLeft(behind, " \t\r\n\f")
	return len(before) >= 3 && bytes.EqualFold(before[len(before)-3:], []byte("url")) && len(behind) > 0 && behind[0] != '"' && behind[0] != '\''
}

// escape reads the escape with which text begins. It returns its character, in lower
// case, and its length.
func escape(text []byte) (r rune, size int) {
	size = 1
	for size < len(text) && size <= 6 && ascii.IsHex(text[size]) {
		r = r<<4 | rune(ascii.Unhex(text[size]))
		size++
	}
	switch {
	case size > 1 && size < len(text) && ascii.IsSpace(text[size]):
		size++
	case size == 1 && len(text) > 1:
		r, size = rune(text[1]), 2
	}
	if 'A' <= r && r <= 'Z' {
		r |= 0x20
	}
	if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' {
		return r, size
	}
	return '_', size
}

// Imported returns the sheets in data URLs that clean text imports.
func Imported(text []byte) (sheets [][]byte) {
	for {
		at := bytes.IndexByte(text, '@')
		if at < 0 {
			return sheets
		}
		text = text[at+1:]
		if !ascii.HasPrefixFold(text, "import") {
			continue
		}
		address := bytes.TrimLeft(text[len("import"):], " \t\r\n\f")
		if ascii.HasPrefixFold(address, "url(") {
			address = address[len("url("):]
		}
		address = bytes.TrimLeft(address, " \t\r\n\f\"'")
		if end := bytes.IndexAny(address, ";{}@"); end >= 0 {
			address = address[:end]
		}
		address = bytes.TrimRight(address, " \t\r\n\f)\"'")
		if sheet := OfURL(Restore(address)); sheet != nil {
			sheets = append(sheets, sheet)
		}
	}
}

// OfURL returns the content of a data URL (RFC 2397); nil if an address is another one, or faulty.
func OfURL(address []byte) []byte {
	address = bytes.TrimSpace(address)
	head, content, ok := bytes.Cut(address, []byte(","))
	if !ok || !ascii.HasPrefixFold(head, "data:") {
		return nil
	}
	content = ascii.UnescapePercent(content)
	if !ascii.HasPrefixFold(head[max(0, len(head)-len("base64")):], "base64") {
		return content
	}
	content = bytes.TrimRight(bytes.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, content), "=")
	decoded := make([]byte, base64.RawStdEncoding.DecodedLen(len(content)))
	n, _ := base64.RawStdEncoding.Decode(decoded, content)
	return decoded[:n]
}
