package words

import (
	"unicode/utf8"

	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/span"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	// maxText bounds the folded text, in bytes. It is cut after the last token that fits.
	maxText = 256 << 10
	// spacedOut is the number of single letters in a row from which on they are one word,
	// as in "v i a g r a".
	spacedOut = 4
)

// Tokeniser makes the text that is signed. It collects folded words of any text until it
// is full. A Tokeniser without Work has no budget.
type Tokeniser struct {
	Text     []byte // the tokens: one blank between words, none beside dense ones
	Tokens   []Token
	singles  int         // tokens at the end that are single letters, with one blank between
	wasDense bool        // the last token is a letter of a script without blanks
	long     int         // letters of tokens that are too long for words
	mixed    int         // how far ahead the sign is by which a long token is mixed; 0 or less: unknown
	by       span.Author // of the text being added
	isHidden bool        // the text being added is plainly hidden
	Carried  mail.Carriage
	IsFull   bool

	letters foldedWord // of the word being read
	joined  foldedWord // of the single letters before it
	lower   []byte
	Work    *work.Steps
}

// Restart empties t for another text of the same message.
func (t *Tokeniser) Restart() {
	t.Text, t.Tokens, t.singles, t.long, t.IsFull = t.Text[:0], t.Tokens[:0], 0, 0, false
}

// HasLong reports whether tokens that are too long for words have the letters of a brief text. Words without blanks are
// such a token, and a style can show them apart.
func (t *Tokeniser) HasLong() bool { return t.long >= Brief.letters }

// Reset empties t. It keeps buffers that are not too large.
func (t *Tokeniser) Reset() {
	t.Restart()
	t.Text, t.lower, t.letters.out = work.Keep(t.Text), work.Keep(t.lower), work.Keep(t.letters.out)
	t.joined.out = work.Keep(t.joined.out)
	if cap(t.Tokens) > work.MaxKept/16 {
		t.Tokens = nil
	}
}

// Add appends the words of text, which is UTF-8. quotes are its stretches, in order, that
// are not its author's own; hidden are those that are plainly hidden.
func (t *Tokeniser) Add(text []byte, quotes, hidden []span.Span) {
	pos := 0
	t.mixed = 0
	for blanks := 2; pos < len(text) && !t.IsFull && !t.Work.IsOver(); {
		if size := blankSize(text[pos:]); size > 0 {
			blanks++
			pos += size
			continue
		}
		for len(quotes) > 0 && quotes[0].End <= pos {
			quotes = quotes[1:]
		}
		t.by = span.ByAuthor
		if len(quotes) > 0 && quotes[0].Start <= pos {
			t.by = quotes[0].By
		}
		for len(hidden) > 0 && hidden[0].End <= pos {
			hidden = hidden[1:]
		}
		t.isHidden = len(hidden) > 0 && hidden[0].Start <= pos
		if blanks > 1 {
			t.joinSingles()
		}
		pos += t.addPiece(text[pos:])
		blanks = 0
	}
	t.joinSingles()
	t.Work.Spend(pos / 2)
}

// addPiece adds the words of the token with which text begins, or of a piece of a long one, and returns its
// length. Further pieces of a mixed token are mixed: their letters are not read again to find that out.
func (t *Tokeniser) addPiece(text []byte) int {
	if t.mixed > 0 {
		return t.addMixed(text)
	}
	return t.addToken(text)
}

// addToken adds the words of the token with which text begins, and returns its length.
// Most tokens are letters with punctuation around them, which are folded at once.
func (t *Tokeniser) addToken(text []byte) int {
	w := &t.letters
	w.reset()
	last := byte(0)
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
			t.mixed = i
			return t.addMixed(text)
		default:
			if class != last && class != 'n' { // what pushOne does with most letters
				w.count++
				w.out = append(w.out, class)
				last = class
				continue
			}
			w.pushOne(class)
			last = w.out[len(w.out)-1]
		}
	}
	t.addPlain(text)
	return len(text)
}

// addPlain adds the word of a token of letters and plain signs, which t.letters has
// collected.
func (t *Tokeniser) addPlain(token []byte) {
	if t.letters.count >= longWord {
		t.addWord(token)
		return
	}
	t.append(t.letters.word(), false)
}

// The classes of bytes in most tokens, besides the canonical letter that a byte may be.
const (
	tokenOther = iota
	tokenSign  // is ignored
	tokenBlank
)

// tokenClass is the canonical letter of a byte, or its class.
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

// append adds a token, with a blank before it if both it and the one before are words.
func (t *Tokeniser) append(word []byte, dense bool) {
	if len(word) == 0 || t.IsFull {
		return
	}
	single := !dense && isSingle(word)
	if !single {
		t.joinSingles()
	}
	if len(t.Text)+1+len(word) > maxText {
		t.IsFull = true
		return
	}
	if len(t.Tokens) > 0 && !dense && !t.wasDense {
		t.Text = append(t.Text, ' ')
	}
	start := len(t.Text)
	t.Text = append(t.Text, word...)
	t.Tokens = append(t.Tokens, Token{uint32(start), uint32(len(t.Text)), t.by, t.isHidden, t.Carried})
	t.wasDense = dense
	if single {
		t.singles++
	}
}

// isSingle reports whether a word has one letter.
func isSingle(word []byte) bool {
	if word[0] < utf8.RuneSelf {
		return len(word) == 1
	}
	_, size := utf8.DecodeRune(word)
	return size == len(word)
}

// joinSingles makes one word of the single letters at the end, if they are enough for a
// word that was spaced out.
func (t *Tokeniser) joinSingles() {
	if t.singles < spacedOut {
		t.singles = 0
		return
	}
	last := t.Tokens[len(t.Tokens)-t.singles:]
	t.joined.reset()
	for _, l := range last {
		t.joined.push(t.Text[l.start:l.end]...)
	}
	t.Text = append(t.Text[:last[0].start], t.joined.out...)
	last[0].end = uint32(len(t.Text))
	t.Tokens = t.Tokens[:len(t.Tokens)-t.singles+1]
	t.singles = 0
}

// blankSize returns the length of the blank with which text begins, 0 for none.
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

// isBlank are the ASCII characters that separate words. Other control characters show
// nothing.
var isBlank = [utf8.RuneSelf]bool{' ': true, '\t': true, '\n': true, '\v': true, '\f': true, '\r': true, '<': true, '>': true, '"': true}

// isWideBlank reports whether readers see a character beyond ASCII as a blank. Of the Hangul fillers these
// are the two that fonts and browsers show so, although Unicode has them as ignorable.
func isWideBlank(r rune) bool {
	switch r {
	case 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0x3164, 0xFFA0:
		return true
	}
	return 0x2000 <= r && r <= 0x2009 // not the hair space, of one pixel
}

// CountHidden returns how many words are hidden.
func (t *Tokeniser) CountHidden() (n int) {
	for _, one := range t.Tokens {
		if one.isHidden {
			n++
		}
	}
	return n
}

// Marked returns the text with a sign before each hidden word. No word contains the sign.
func (t *Tokeniser) Marked() []byte {
	var out []byte
	for _, one := range t.Tokens {
		if one.isHidden {
			out = append(out, '<')
		}
		out = append(append(out, t.Text[one.start:one.end]...), ' ')
	}
	return out
}

// Farthest returns how the text is carried: the greatest value of its words.
func (t *Tokeniser) Farthest() (farthest mail.Carriage) {
	for _, one := range t.Tokens {
		farthest = max(farthest, one.Carried)
	}
	return farthest
}
