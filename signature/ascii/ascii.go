package ascii

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// IsHex reports whether c is a hexadecimal digit.
func IsHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// Unhex returns the value of a hexadecimal digit.
func Unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// Is reports whether b is ASCII wherever it stands: it has no byte above 0x7F and no escape.
func Is(b []byte) bool {
	if bytes.IndexByte(b, 0x1b) >= 0 { // ESC switches charsets in ISO 2022
		return false
	}
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// IsLetter reports whether c is an ASCII letter.
func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// IsBase64 reports whether c is one of the 64 characters of base64 (RFC 4648 section 4).
func IsBase64(c byte) bool { return IsLetter(c) || '0' <= c && c <= '9' || c == '+' || c == '/' }

// IsSpace reports whether c is white space in HTML and CSS.
func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// AppendLower appends text to dst, with ASCII letters in lower case.
func AppendLower(dst, text []byte) []byte {
	n := len(dst)
	dst = append(dst, text...)
	lower := dst[n:]
	for ; len(lower) >= 8; lower = lower[8:] {
		const ones, high = 0x0101010101010101, 0x8080808080808080
		w := binary.LittleEndian.Uint64(lower)
		low := w &^ high // the sums below do not reach the next byte
		isCapital := (low + (0x80-'A')*ones) &^ (low + (0x80-'Z'-1)*ones) &^ w & high
		binary.LittleEndian.PutUint64(lower, w|isCapital>>2)
	}
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c | 0x20
		}
	}
	return dst
}

// EqualFold reports whether b is s, which is in lower case, in any case.
func EqualFold(b []byte, s string) bool { return len(b) == len(s) && foldsTo(b, s) }

// HasSuffixFold reports whether b ends with s, which is in lower case, in any case.
func HasSuffixFold(b []byte, s string) bool {
	return len(b) >= len(s) && foldsTo(b[len(b)-len(s):], s)
}

// HasPrefixFold reports whether b begins with s, which is in lower case, in any case.
func HasPrefixFold(b []byte, s string) bool { return len(b) >= len(s) && foldsTo(b[:len(s)], s) }

// foldsTo reports whether b, of the length of s, is s, which is in lower case, in any
// case.
func foldsTo(b []byte, s string) bool {
	for i, c := range b {
		if c != s[i] && (c|0x20 != s[i] || s[i] < 'a' || s[i] > 'z') {
			return false
		}
	}
	return true
}

// ContainsAny reports whether text contains one of words, which are not empty.
func ContainsAny(text []byte, words [][]byte) bool {
	for _, word := range words {
		if bytes.Contains(text, word) {
			return true
		}
	}
	return false
}

// IsAlphanumeric reports whether c is an ASCII letter or digit.
func IsAlphanumeric(c byte) bool { return IsLetter(c) || '0' <= c && c <= '9' }

// ByteOrder returns the name of the charset of a text that is declared as having the named one. Browsers,
// Outlook and Thunderbird read UTF-16 without a byte order mark as little-endian, others as big-endian (RFC
// 2781). The text is read in the order in which more of its characters are ASCII or Latin-1.
func ByteOrder(name string, text []byte) string {
	if !hasByteOrder[name] || len(text) > 1 && (text[0] == 0xFF && text[1] == 0xFE || text[0] == 0xFE && text[1] == 0xFF) {
		return name
	}
	big, little := 0, 0
	for i := 0; i+1 < len(text); i += 2 {
		switch {
		case text[i] == 0:
			big++
		case text[i+1] == 0:
			little++
		}
	}
	switch {
	case little > big:
		return "utf-16le"
	case big > little:
		return "utf-16be"
	}
	return name
}

// hasByteOrder are names of UTF-16 that leave the order open.
var hasByteOrder = map[string]bool{"utf-16": true, "utf16": true, "csutf16": true, "ucs-2": true, "iso-10646-ucs-2": true, "csunicode": true, "unicode": true}

// UnescapePercent decodes %XX in a URL, and keeps other bytes. It returns b itself if there is nothing to decode.
func UnescapePercent(b []byte) []byte {
	if bytes.IndexByte(b, '%') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '%' && i+2 < len(b) && IsHex(b[i+1]) && IsHex(b[i+2]) {
			out = append(out, Unhex(b[i+1])<<4|Unhex(b[i+2]))
			i += 2
			continue
		}
		out = append(out, b[i])
	}
	return out
}
