package signature

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// cleanStyle is CSS in lower case, without comments, and with escapes of letters
// decoded (CSS Syntax, section 4.3.7); it is text itself where it has neither.
// Escapes of other characters become "_": they are no part of any name that matters.
func cleanStyle(text []byte) []byte {
	if !bytes.Contains(text, []byte("/*")) && bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	var quote byte
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\\':
			r, size := cssEscape(text[i:])
			out = utf8.AppendRune(out, r)
			i += size
			continue
		case quote != 0:
			if c == quote || c == '\n' {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
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

// cssEscape reads the escape with which text begins: its character, in lower case, and
// its length.
func cssEscape(text []byte) (r rune, size int) {
	size = 1
	for size < len(text) && size <= 6 && isHex(text[size]) {
		r = r<<4 | rune(unhex(text[size]))
		size++
	}
	switch {
	case size > 1 && size < len(text) && isSpace(text[size]):
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

// windowWidth is that of the window, in CSS pixels, in which a page is taken to be read.
const windowWidth = 1000

// applies tells whether the block of an at-rule holds for a reader with a usual window.
func applies(rule []byte) bool {
	name, condition, _ := strings.Cut(strings.ReplaceAll(string(rule), "(", " ("), " ")
	switch name {
	case "@media":
		for query := range strings.SplitSeq(condition, ",") {
			if queryHolds(query) {
				return true
			}
		}
		return false
	case "@supports":
		return !strings.HasPrefix(strings.TrimSpace(condition), "not")
	}
	return name == "@layer"
}

// queryHolds tells whether a media query does (Media Queries 3): one of types and
// widths. Others do not.
func queryHolds(query string) bool {
	for term := range strings.SplitSeq(query, " and ") {
		term = strings.TrimPrefix(strings.TrimSpace(term), "only ")
		feature, value, _ := strings.Cut(strings.Trim(term, "() "), ":")
		switch feature = strings.TrimSpace(feature); feature {
		case "", "all", "screen":
		case "min-width", "min-device-width":
			if pixels(value) > windowWidth {
				return false
			}
		case "max-width", "max-device-width":
			if pixels(value) < windowWidth {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// pixels are a length's, 0 for what is none.
func pixels(v string) float64 {
	number, unit, ok := measure(strings.TrimSpace(v))
	if !ok {
		return 0
	}
	if unit == "em" || unit == "rem" {
		number *= 16
	}
	return number
}
