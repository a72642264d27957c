// Package utf7 decodes UTF-7.
package utf7

import (
	"bytes"
	"encoding/base64"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spambloom/spambloom/signature/ascii"
)

// Decode decodes UTF-7 (RFC 2152). Other bytes are kept; a shifted sequence that is
// cut loses its last character. The result is at most 3/2 as long as source.
func Decode(source []byte) []byte {
	out := make([]byte, 0, len(source)+len(source)/2)
	for {
		plus := bytes.IndexByte(source, '+')
		if plus < 0 {
			return bytes.ToValidUTF8(append(out, source...), []byte("\uFFFD"))
		}
		out = append(out, source[:plus]...)
		source = source[plus+1:]
		end := 0
		for end < len(source) && ascii.IsBase64(source[end]) {
			end++
		}
		if end == 0 { // "+-" is "+"
			out = append(out, '+')
		} else {
			out = appendUTF16(out, source[:end])
		}
		source = bytes.TrimPrefix(source[end:], []byte("-"))
	}
}

// appendUTF16 appends the characters of a run of base64 in UTF-16, big-endian.
func appendUTF16(out, run []byte) []byte {
	raw := make([]byte, base64.RawStdEncoding.DecodedLen(len(run)))
	n, _ := base64.RawStdEncoding.Decode(raw, run) // an incomplete character is dropped
	raw = raw[:n&^1]
	for i := 0; i < len(raw); i += 2 {
		r := rune(raw[i])<<8 | rune(raw[i+1])
		if utf16.IsSurrogate(r) && i+3 < len(raw) {
			if pair := utf16.DecodeRune(r, rune(raw[i+2])<<8|rune(raw[i+3])); pair != utf8.RuneError {
				r, i = pair, i+2
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
