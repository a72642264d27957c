package signature

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// foldedWord collects the letters of one word in their canonical form: look-alikes
// that are several letters ("rn" and "m", "vv" and "w") become one, and a letter
// does not repeat.
type foldedWord struct {
	out   []byte
	count int // letters, before any became one
}

func (w *foldedWord) reset() { w.out, w.count = w.out[:0], 0 }

// push adds ASCII letters.
func (w *foldedWord) push(letters ...byte) {
	for _, c := range letters {
		w.count++
		n := len(w.out)
		if n == 0 {
			w.out = append(w.out, c)
			continue
		}
		switch last := w.out[n-1]; {
		case last == 'r' && c == 'n':
			w.replaceLast('m')
		case last == 'v' && c == 'v':
			w.replaceLast('w')
		case last != c:
			w.out = append(w.out, c)
		}
	}
}

func (w *foldedWord) replaceLast(c byte) {
	n := len(w.out)
	if n > 1 && w.out[n-2] == c {
		w.out = w.out[:n-1]
		return
	}
	w.out[n-1] = c
}

// pushLetter adds a letter of any script, in UTF-8.
func (w *foldedWord) pushLetter(letter []byte) {
	if len(letter) == 1 {
		w.push(letter[0])
		return
	}
	w.count++
	if !bytes.HasSuffix(w.out, letter) {
		w.out = append(w.out, letter...)
	}
}

// word is what was collected, or nothing where it is too long for a word.
func (w *foldedWord) word() []byte {
	if w.count >= longWord {
		return nil
	}
	return w.out
}

// asciiLetter is the canonical letter of each ASCII letter, 0 for others. i and l
// are one, as a capital of the one is the other.
var asciiLetter = func() (table [utf8.RuneSelf]byte) {
	for c := byte('a'); c <= 'z'; c++ {
		table[c], table[c-0x20] = c, c
	}
	table['l'], table['L'] = 'i', 'i'
	return table
}()

// isPlainSign are the ASCII signs that say nothing and stand for no letter.
var isPlainSign = asciiSet("'-_*,;?)]}~^`#%&=")

func asciiSet(chars string) (set [utf8.RuneSelf]bool) {
	for _, c := range chars {
		set[c] = true
	}
	return set
}

// isClosing are the signs that say nothing at the end of a word.
var isClosing = asciiSet(".:!'-_*,;?)]}~^`#%&=")

// closing is the length of the punctuation with which text begins, if a blank or
// the end follows it.
func closing(text []byte) int {
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return 0
		}
		if isBlank[c] {
			return i
		}
		if !isClosing[c] {
			return 0
		}
	}
	return len(text)
}

// addMixed adds the words of the token with which text begins, whatever is in it,
// and returns its length.
func (t *tokeniser) addMixed(text []byte) int {
	end := 0
	for end < len(text) && end < maxToken {
		if blankSize(text[end:]) > 0 {
			break
		}
		_, size := utf8.DecodeRune(text[end:])
		end += size
	}
	t.lower = append(t.lower[:0], bytes.ToLower(text[:end])...)
	rest := t.lower
	for len(rest) > 0 {
		r, size := utf8.DecodeRune(rest)
		if isDense(r) {
			t.append(rest[:size], true)
			rest = rest[size:]
			continue
		}
		n := bytes.IndexFunc(rest, isDense)
		if n < 0 {
			n = len(rest)
		}
		t.addWord(rest[:n])
		rest = rest[n:]
	}
	return end
}

func (t *tokeniser) addWord(w []byte) {
	if bytes.IndexByte(w, '@') >= 0 {
		return
	}
	if w = cutLink(w); isHost(trimPunctuation(w)) {
		return
	}
	t.letters.reset()
	for len(w) > 0 {
		r, size := utf8.DecodeRune(w)
		switch {
		case r < utf8.RuneSelf && asciiLetter[r] != 0:
			t.letters.push(asciiLetter[r])
		case r >= utf8.RuneSelf && isLetter(r) && r != unicode.ReplacementChar:
			t.letters.pushLetter(w[:size])
		}
		w = w[size:]
	}
	t.append(t.letters.word(), false)
}
