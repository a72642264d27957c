package words

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

const (
	// longWord is the number of characters, without punctuation around them, from which
	// on a word is an identifier, a key or a hash buster.
	longWord = 24
	// maxToken bounds the bytes that are folded at once. Only text without blanks has
	// longer tokens, which are cut.
	maxToken = 16 << 10
)

// isIgnorable reports whether a character shows nothing, no more than a pixel (the hair space), or only lengthens the line
// between two letters (tatweel in Arabic, N'Ko and Mongolian).
func isIgnorable(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case r == 0x034F, r == 0x0640, r == 0x07FA, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5,
		r == 0x200A, 0x180A <= r && r <= 0x180F, r == 0x2D7F, r == 0x11A47, r == 0x11A99, r == 0x16FE4,
		0xFCF2 <= r && r <= 0xFCF4, 0xFE71 <= r && r <= 0xFE7F && r&1 == 1, 0xFE00 <= r && r <= 0xFE0F, 0xE0000 <= r && r <= 0xE0FFF:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// trimPunctuation removes from both ends what is neither letter nor digit.
func trimPunctuation(w []byte) []byte {
	return bytes.TrimFunc(w, func(r rune) bool { return !isAlphanumeric(r) && !isLetter(r) })
}

// cutLink removes a link and all after it: a scheme with "://", "mailto:", or "www." at
// the beginning of a name.
func cutLink(w []byte) []byte {
	if i := bytes.Index(w, []byte("://")); i >= 0 {
		for i > 0 && 'a' <= w[i-1] && w[i-1] <= 'z' {
			i--
		}
		w = w[:i]
	}
	if i := bytes.Index(w, []byte("mailto:")); i >= 0 {
		w = w[:i]
	}
	if i := bytes.Index(w, []byte("www.")); i == 0 || i > 0 && w[i-1] < utf8.RuneSelf && !isAlphanumeric(rune(w[i-1])) {
		w = w[:i]
	}
	return w
}

// isHost reports whether w is a host name, with or without a port or a path: labels of
// ASCII letters, digits and hyphens, the last of two letters or more.
func isHost(w []byte) bool {
	if end := bytes.IndexAny(w, ":/?#"); end >= 0 {
		w = w[:end]
	}
	dot := bytes.LastIndexByte(w, '.')
	if dot <= 0 || len(w)-dot <= 2 || bytes.Contains(w, []byte("..")) {
		return false
	}
	for _, c := range w[dot+1:] {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	for _, c := range w[:dot] {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func isAlphanumeric(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// isLetter reports whether words have such a character: a letter, or a mark that is part
// of a script. Marks of all scripts, as accents left over from NFKC, are decoration.
func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) && !unicode.Is(unicode.Inherited, r)
}

// isDense reports whether r is a letter or mark of a script without blanks between words:
// Thai, Lao, Tibetan, Myanmar, Khmer, Kana, Bopomofo, Han.
func isDense(r rune) bool {
	switch {
	case r < 0x0E00, r == 0x17B4, r == 0x17B5: // the last two show nothing
		return false
	case r <= 0x0FFF, 0x1000 <= r && r <= 0x109F, 0x1780 <= r && r <= 0x17FF, 0x3005 <= r && r <= 0x3007,
		0x3040 <= r && r <= 0x312F, 0x31A0 <= r && r <= 0x31BF, 0x31F0 <= r && r <= 0x31FF,
		0x3400 <= r && r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF, 0xF900 <= r && r <= 0xFAFF,
		0x20000 <= r && r <= 0x3FFFF:
		return isLetter(r)
	}
	return false
}
