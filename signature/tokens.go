package signature

import (
	"unicode/utf8"
)

const (
	// maxText bounds the folded text, in bytes. It is cut after
	// the last token that fits.
	maxText = 256 << 10
	// spacedOut is the number of single letters in a row from which on they are
	// one word that was spaced out, as in "v i a g r a".
	spacedOut = 4
)

// tokeniser makes the text that is signed: it collects folded words from text that
// came in any form, until it is full.
type tokeniser struct {
	text    []byte // the tokens: one blank between words, none beside dense ones
	tokens  []token
	singles int    // tokens at the end that are single letters, with one blank between
	dense   bool   // the last token is a letter of a script without blanks
	by      author // of what is added now
	hidden  bool   // likewise
	carried carriage
	full    bool

	letters foldedWord // of the word that is read
	joined  foldedWord // of the single letters before it
	lower   []byte
	work    *work
}

func (t *tokeniser) restart() {
	t.text, t.tokens, t.singles, t.full = t.text[:0], t.tokens[:0], 0, false
}

// reset empties t, keeping of its buffers what keep returns.
func (t *tokeniser) reset(keep func([]byte) []byte) {
	t.restart()
	t.text, t.lower, t.letters.out = keep(t.text), keep(t.lower), keep(t.letters.out)
	t.joined.out = keep(t.joined.out)
	if cap(t.tokens) > maxKept/16 {
		t.tokens = nil
	}
}

// add appends the words of text, which is UTF-8. quotes are the stretches of it,
// in order, that are not its author's own, hidden those that are plainly hidden.
func (t *tokeniser) add(text []byte, quotes, hidden []span) {
	pos := 0
	for blanks := 2; pos < len(text) && !t.full && !t.work.isOver(); {
		if size := blankSize(text[pos:]); size > 0 {
			blanks++
			pos += size
			continue
		}
		for len(quotes) > 0 && quotes[0].end <= pos {
			quotes = quotes[1:]
		}
		t.by = byAuthor
		if len(quotes) > 0 && quotes[0].start <= pos {
			t.by = quotes[0].by
		}
		for len(hidden) > 0 && hidden[0].end <= pos {
			hidden = hidden[1:]
		}
		t.hidden = len(hidden) > 0 && hidden[0].start <= pos
		if blanks > 1 {
			t.joinSingles()
		}
		pos += t.addToken(text[pos:])
		blanks = 0
	}
	t.joinSingles()
	t.work.spend(pos / 2)
}

// addToken adds the words of the token with which text begins, and returns its
// length. Most tokens are letters with punctuation around them: those are folded
// at once.
func (t *tokeniser) addToken(text []byte) int {
	w := &t.letters
	w.reset()
	for i, c := range text {
		switch class := tokenClass[c]; class {
		case tokenSign:
			continue
		case tokenBlank:
			t.addPlain(text[:i])
			return i
		case tokenOther:
			if n := closing(text[i:]); n > 0 {
				t.addPlain(text[:i])
				return i + n
			}
			return t.addMixed(text)
		default:
			w.pushOne(class)
		}
	}
	t.addPlain(text)
	return len(text)
}

// addPlain adds the word of a token that has nothing but letters and plain signs,
// which t.letters has collected.
func (t *tokeniser) addPlain(token []byte) {
	if t.letters.count >= longWord {
		t.addWord(token)
		return
	}
	t.append(t.letters.word(), false)
}

// What a byte is in most tokens, beside the canonical letter that it may be.
const (
	tokenOther = iota
	tokenSign  // says nothing
	tokenBlank
)

// tokenClass is the canonical letter that a byte is, else its class.
var tokenClass = func() (table [256]byte) {
	for c := range byte(utf8.RuneSelf) {
		switch {
		case asciiLetter[c] != 0:
			table[c] = asciiLetter[c]
		case isPlainSign[c]:
			table[c] = tokenSign
		case isBlank[c]:
			table[c] = tokenBlank
		}
	}
	return table
}()

// append adds a token, and a blank before it where both it and the one before are
// words.
func (t *tokeniser) append(word []byte, dense bool) {
	if len(word) == 0 || t.full {
		return
	}
	single := !dense && isSingle(word)
	if !single {
		t.joinSingles()
	}
	if len(t.text)+1+len(word) > maxText {
		t.full = true
		return
	}
	if len(t.tokens) > 0 && !dense && !t.dense {
		t.text = append(t.text, ' ')
	}
	start := len(t.text)
	t.text = append(t.text, word...)
	t.tokens = append(t.tokens, token{uint32(start), uint32(len(t.text)), t.by, t.hidden, t.carried})
	t.dense = dense
	if single {
		t.singles++
	}
}

// isSingle tells a word of one letter.
func isSingle(word []byte) bool {
	if word[0] < utf8.RuneSelf {
		return len(word) == 1
	}
	_, size := utf8.DecodeRune(word)
	return size == len(word)
}

// joinSingles makes one word of the single letters at the end, where they are
// enough to be a word that was spaced out.
func (t *tokeniser) joinSingles() {
	if t.singles < spacedOut {
		t.singles = 0
		return
	}
	last := t.tokens[len(t.tokens)-t.singles:]
	t.joined.reset()
	for _, l := range last {
		t.joined.push(t.text[l.start:l.end]...)
	}
	t.text = append(t.text[:last[0].start], t.joined.out...)
	last[0].end = uint32(len(t.text))
	t.tokens = t.tokens[:len(t.tokens)-t.singles+1]
	t.singles = 0
}

// blankSize is the length of the blank with which text begins, 0 for none.
func blankSize(text []byte) int {
	if c := text[0]; c < utf8.RuneSelf {
		if isBlank[c] {
			return 1
		}
		return 0
	}
	if r, size := utf8.DecodeRune(text); isWideBlank(r) {
		return size
	}
	return 0
}

// isBlank are the ASCII characters that separate words. Other control characters
// show nothing.
var isBlank = [utf8.RuneSelf]bool{' ': true, '\t': true, '\n': true, '\v': true, '\f': true, '\r': true, '<': true, '>': true, '"': true}

func isWideBlank(r rune) bool {
	switch r {
	case 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000:
		return true
	}
	return 0x2000 <= r && r <= 0x200A
}
