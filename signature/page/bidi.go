package page

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Controls of the Unicode bidirectional algorithm (UAX #9) that reverse the order of
// letters, and that end it.
const (
	rightToLeftOverride = '\u202E'
	popDirection        = '\u202C'
)

// InShownOrder returns text in the order in which a reader sees it. Text between a
// right-to-left override and its end, or the end of the line, is reversed, unless it has
// letters that are written from right to left. The result is text itself if it has no
// override, otherwise a copy of the same length.
func InShownOrder(text []byte) []byte {
	override := []byte(string(rightToLeftOverride))
	i := bytes.Index(text, override)
	if i < 0 {
		return text
	}
	text = bytes.Clone(text)
	for rest := text[i:]; ; {
		i := bytes.Index(rest, override)
		if i < 0 {
			return text
		}
		rest = rest[i+len(override):]
		end := bytes.IndexFunc(rest, endsOverride)
		if end < 0 {
			end = len(rest)
		}
		if !bytes.ContainsFunc(rest[:end], isRightToLeft) {
			reverse(rest[:end])
		}
		rest = rest[end:]
	}
}

func endsOverride(r rune) bool {
	return r == '\n' || 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069
}

func isRightToLeft(r rune) bool {
	return r >= 0x590 && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
}

// reverse reverses the characters of a text, in place.
func reverse(text []byte) {
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRune(text[i:])
		slices.Reverse(text[i : i+size])
		i += size
	}
	slices.Reverse(text)
}
