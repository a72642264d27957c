package signature

import (
	"bytes"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	// maxText bounds the normalised text, in bytes. It is cut after the last
	// word that fits.
	maxText = 64 << 10
	// longWord is the number of characters, punctuation around it aside, from
	// which on a word is no word but an identifier, a key or a hash buster.
	longWord = 24
	// maxToken bounds the bytes that are folded at once. Only text without
	// blanks has longer tokens; those are cut.
	maxToken = 16 << 10
	// maxFolded bounds the bytes that are folded in all, in or out: some
	// characters grow elevenfold, others vanish, and neither fills the text.
	maxFolded = maxSource / 4
)

// normaliser collects words from text that came in any form, until it is full
// or has done its share of work.
type normaliser struct {
	out     []byte
	full    bool
	folded  int // bytes in or out of folding, whichever were more
	scratch [2][]byte
	caser   cases.Caser
	work    *work
}

// restart empties n.
func (n *normaliser) restart() { n.out, n.full, n.folded = n.out[:0], false, 0 }

// reset empties n, keeping of its buffers what keep returns.
func (n *normaliser) reset(keep func([]byte) []byte) {
	n.restart()
	n.out = keep(n.out)
	n.scratch = [2][]byte{keep(n.scratch[0]), keep(n.scratch[1])}
}

// add appends the words of text, which is UTF-8. What separates words is white
// space, "<", ">" and '"', and the border between scripts that put blanks
// between words and scripts that do not.
func (n *normaliser) add(text []byte) {
	all := len(text)
	for len(text) > 0 && !n.full && !n.work.isOver() {
		if isSeparator(text[0]) {
			text = text[1:]
			continue
		}
		if size := n.addPlain(text); size > 0 {
			text = text[size:]
			continue
		}
		end, ascii := tokenEnd(text)
		if ascii {
			n.work.spend(stepsOfToken + end)
			n.word(n.lower(text[:end]))
		} else {
			folded := n.fold(text[:end])
			n.folded += max(end, len(folded))
			n.work.spend(2*stepsOfToken + 8*max(end, len(folded)))
			n.token(folded)
			n.full = n.full || n.folded >= maxFolded
		}
		text = text[end:]
	}
	n.work.spend((all - len(text)) / 2)
}

// What the bytes of a token say about it, in plainClass.
const (
	plainLetter = iota // in lower case: plainClass has the letter itself
	plainSign          // says nothing
	plainDot           // may be of a host name, or end a sentence
	notPlain           // may be of a link, an address, or of other scripts
	plainEnd           // separates words
)

// plainClass is the letter in lower case that a byte is, else its class.
var plainClass = func() (table [256]byte) {
	for i := range table {
		switch c := byte(i); {
		case 'a' <= c|0x20 && c|0x20 <= 'z' && c < utf8.RuneSelf:
			table[c] = c | 0x20
		case isSeparator(c):
			table[c] = plainEnd
		case c == '@' || c == ':' || c >= utf8.RuneSelf:
			table[c] = notPlain
		case c == '.':
			table[c] = plainDot
		default:
			table[c] = plainSign
		}
	}
	return table
}()

// addPlain appends the word with which text begins and returns the length of its
// token, if that is one of most tokens: of ASCII, short, no link or address or host
// name for it has no dot but at its end. Else it returns 0.
func (n *normaliser) addPlain(text []byte) int {
	var word [longWord]byte
	size, letters, dots := 0, 0, 0
	for ; size < len(text); size++ {
		c := plainClass[text[size]]
		if c == plainEnd {
			break
		}
		if c == notPlain || size == longWord-1 {
			return 0
		}
		if c == plainDot {
			dots++
		} else if c > plainEnd {
			word[letters] = c
			letters++
		}
	}
	if dots > 1 || dots == 1 && (text[size-1] != '.' || letters >= 3 && string(word[letters-3:letters]) == "www") {
		return 0
	}
	n.append(word[:letters], false)
	return size
}

func isSeparator(c byte) bool {
	return c <= ' ' || c == '<' || c == '>' || c == '"'
}

// tokenEnd returns the length of the token with which text begins.
func tokenEnd(text []byte) (end int, ascii bool) {
	ascii = true
	for end < len(text) {
		c := text[end]
		if c < utf8.RuneSelf {
			if isSeparator(c) {
				break
			}
			end++
			continue
		}
		r, size := utf8.DecodeRune(text[end:])
		if unicode.IsSpace(r) {
			if end == 0 {
				end = size
			}
			break
		}
		ascii = false
		if end += size; end >= maxToken {
			break
		}
	}
	return end, ascii
}

func (n *normaliser) lower(word []byte) []byte {
	out := n.scratch[0][:0]
	for _, c := range word {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		out = append(out, c)
	}
	n.scratch[0] = out
	return out
}

// fold is word without ignorable characters, in NFKC and case folded: the
// Unicode standard's toNFKC_Casefold (section 3.13) in its steps.
func (n *normaliser) fold(word []byte) []byte {
	a, b := n.scratch[0][:0], n.scratch[1][:0]
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		if !isIgnorable(r) {
			a = append(a, word[i:i+size]...)
		}
		i += size
	}
	b = norm.NFKC.Append(b, a...)
	a = n.appendFold(a[:0], b)
	b = norm.NFKC.Append(b[:0], a...)
	n.scratch = [2][]byte{a, b}
	return b
}

// appendFold appends src, case folded, to dst. Folding makes no text more than
// three times as long.
func (n *normaliser) appendFold(dst, src []byte) []byte {
	dst = slices.Grow(dst, 3*len(src))
	n.caser.Reset()
	written, _, err := n.caser.Transform(dst[len(dst):cap(dst)], src, true)
	if err != nil { // no room is the only error it has, and there is room
		panic(fmt.Sprintf("signature: case folding %d bytes: %v", len(src), err))
	}
	return dst[:len(dst)+written]
}

// isIgnorable tells the characters that show nothing.
func isIgnorable(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0,
		0x180B <= r && r <= 0x180F, 0xFE00 <= r && r <= 0xFE0F, 0xE0000 <= r && r <= 0xE0FFF:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// token splits a token at the borders between scripts.
func (n *normaliser) token(t []byte) {
	for len(t) > 0 {
		end, dense := 0, false
		for end < len(t) {
			r, size := utf8.DecodeRune(t[end:])
			if d := isDense(r); end == 0 {
				dense = d
			} else if d != dense {
				break
			}
			end += size
		}
		if dense {
			n.append(t[:end], true)
		} else {
			n.word(t[:end])
		}
		t = t[end:]
	}
}

// word appends the letters of w, if w is a word: not a link, an address or a
// host name, and not too long for one.
func (n *normaliser) word(w []byte) {
	if bytes.IndexByte(w, '@') >= 0 {
		return
	}
	if bytes.IndexByte(w, '.') >= 0 || bytes.IndexByte(w, ':') >= 0 {
		if w = cutLink(w); isHost(trimPunctuation(w)) {
			return
		}
	}
	if len(w) >= longWord && utf8.RuneCount(trimPunctuation(w)) >= longWord {
		return
	}
	letters := w[:0]
	for i := 0; i < len(w); {
		if c := w[i]; c < utf8.RuneSelf {
			if 'a' <= c && c <= 'z' {
				letters = append(letters, c)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(w[i:])
		if isLetter(r) {
			letters = append(letters, w[i:i+size]...)
		}
		i += size
	}
	n.append(letters, false)
}

// trimPunctuation takes off both ends what is neither letter nor digit.
func trimPunctuation(w []byte) []byte {
	return bytes.TrimFunc(w, func(r rune) bool { return !isAlphanumeric(r) && !isLetter(r) })
}

// append adds a word, and a blank before it if both it and what is before it
// are of scripts with blanks. Of a dense run that does not fit, the beginning
// is added.
func (n *normaliser) append(word []byte, dense bool) {
	if len(word) == 0 || n.full {
		return
	}
	blank := 0
	if !dense && len(n.out) > 0 && !endsDense(n.out) {
		blank = 1
	}
	if room := maxText - len(n.out) - blank; len(word) > room {
		n.full = true
		if dense {
			n.out = append(n.out, word[:runeStart(word, room)]...)
		}
		return
	}
	if blank > 0 {
		n.out = append(n.out, ' ')
	}
	n.out = append(n.out, word...)
}

// endsDense tells whether the last letter is of a script without blanks.
func endsDense(text []byte) bool {
	if text[len(text)-1] < utf8.RuneSelf {
		return false
	}
	last, _ := utf8.DecodeLastRune(text)
	return isDense(last)
}

// runeStart returns the last position up to i at which a character begins.
func runeStart(b []byte, i int) int {
	for i > 0 && !utf8.RuneStart(b[i]) {
		i--
	}
	return i
}

// cutLink cuts off a link and all after it: a scheme with "://", "mailto:", or
// "www." where a name can begin.
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

// isHost tells a host name, with a port or a path after it or without: labels
// of ASCII letters, digits and hyphens, the last of two letters or more.
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

// isLetter tells what a word is made of: letters, and the marks that are part
// of a script. Marks for all scripts, as accents left over from NFKC, are
// decoration.
func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) && !unicode.Is(unicode.Inherited, r)
}

// isDense tells letters and marks of scripts that put no blanks between words:
// Thai, Lao, Tibetan, Myanmar, Khmer, Kana, Bopomofo, Han.
func isDense(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0FFF, 0x1000 <= r && r <= 0x109F, 0x1780 <= r && r <= 0x17FF, 0x3005 <= r && r <= 0x3007,
		0x3040 <= r && r <= 0x312F, 0x31A0 <= r && r <= 0x31BF, 0x31F0 <= r && r <= 0x31FF,
		0x3400 <= r && r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF, 0xF900 <= r && r <= 0xFAFF,
		0x20000 <= r && r <= 0x3FFFF:
		return isLetter(r)
	}
	return false
}
