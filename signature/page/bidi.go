package page

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Controls of the Unicode bidirectional algorithm (UAX #9) that turn the order of
// letters, and end that.
const (
	rightToLeftOverride = '\u202E'
	popDirection        = '\u202C'
)

// inShownOrder is text in the order in which a reader sees it: what stands between a
// right-to-left override and its end, or the end of the line, is turned round, unless
// it has letters that go from right to left anyway. It is text itself where it has no
// override, else a copy of the same length.
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
			turnRound(rest[:end])
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

// turnRound reverses the characters of a text, in place.
func turnRound(text []byte) {
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRune(text[i:])
		slices.Reverse(text[i : i+size])
		i += size
	}
	slices.Reverse(text)
}
