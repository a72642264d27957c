package ascii

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

func IsHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func Unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

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

func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// appendLower appends text to dst, ASCII in lower case.
func AppendLower(dst, text []byte) []byte {
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

func EqualFold(b []byte, s string) bool { return len(b) == len(s) && foldsTo(b, s) }

func HasSuffixFold(b []byte, s string) bool {
	return len(b) >= len(s) && foldsTo(b[len(b)-len(s):], s)
}

func HasPrefixFold(b []byte, s string) bool { return len(b) >= len(s) && foldsTo(b[:len(s)], s) }

// foldsTo compares bytes with lower-case ASCII.
func foldsTo(b []byte, s string) bool {
	for i, c := range b {
		if c != s[i] && (c|0x20 != s[i] || s[i] < 'a' || s[i] > 'z') {
			return false
		}
	}
	return true
}

func ContainsAny(text []byte, words [][]byte) bool {
	for _, word := range words {
		if bytes.Contains(text, word) {
			return true
		}
	}
	return false
}

func IsAlphanumeric(c byte) bool { return IsLetter(c) || '0' <= c && c <= '9' }
