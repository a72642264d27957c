package words

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spambloom/spambloom/signature/work"
)

// foldedWord collects the letters of one word in their canonical form. Look-alikes of
// several letters ("rn" and "m", "vv" and "w") become one, and a letter does not repeat.
type foldedWord struct {
	out   []byte
	count int // letters before several became one
}

func (w *foldedWord) reset() { w.out, w.count = w.out[:0], 0 }

// push adds ASCII letters.
func (w *foldedWord) push(letters ...byte) {
	for _, c := range letters {
		w.pushOne(c)
	}
}

// pushOne adds an ASCII letter.
func (w *foldedWord) pushOne(c byte) {
	w.count++
	n := len(w.out)
	if n == 0 {
		w.out = append(w.out, c)
		return
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
	if r, _ := utf8.DecodeRune(letter); hangulVowel <= r && r < hangulLast+hangulSorts { // parted by signs
		if syllable, ok := joinHangul(w.out, r); ok {
			w.out = w.out[:len(w.out)-longestConjoiningCharacter]
			letter = utf8.AppendRune(nil, syllable)
		}
	}
	if !bytes.HasSuffix(w.out, letter) {
		w.out = append(w.out, letter...)
	}
}

// word returns the letters collected, or nothing if they are too many for a word.
func (w *foldedWord) word() []byte {
	if w.count >= longWord {
		return nil
	}
	return w.out
}

// asciiLetter is the canonical letter of each ASCII letter, 0 for others. i and l are the
// same, as a capital i looks like an l.
var asciiLetter = func() (table [utf8.RuneSelf]byte) {
	for c := byte('a'); c <= 'z'; c++ {
		table[c], table[c-0x20] = c, c
	}
	table['l'], table['L'] = 'i', 'i'
	return table
}()

// isPlainSign are the ASCII signs that stand for no letter and are ignored.
var isPlainSign = asciiSet("'-_*,;?)]}~^`#%&=")

func asciiSet(chars string) (set [utf8.RuneSelf]bool) {
	for _, c := range chars {
		set[c] = true
	}
	return set
}

// isClosing are the signs that are ignored at the end of a word.
var isClosing = asciiSet(".:!'-_*,;?)]}~^`#%&=")

// closing returns the length of the punctuation with which text begins, if a blank or the
// end follows it, otherwise 0.
func closing(text []byte) int {
	for i, c := range text {
		if c >= utf8.RuneSelf || i == maxToken {
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

// addMixed adds the words of the token with which text begins, whatever it contains, and
// returns its length.
func (t *Tokeniser) addMixed(text []byte) int {
	start, end := 0, 0
	for end < len(text) && end < maxToken {
		if c := text[end]; c < utf8.RuneSelf {
			if isBlank[c] && !isLeetK(text, end) {
				break
			}
			end++
			continue
		}
		r, size := utf8.DecodeRune(text[end:])
		if isWideBlank(r) {
			break
		}
		form, changed := looksLike().of(r)
		if !changed {
			form = string(text[end : end+size])
		}
		if first, _ := utf8.DecodeRuneInString(form); isDense(first) {
			t.addWord(text[start:end])
			t.addDense(form)
			start = end + size
		}
		end += size
	}
	t.addWord(text[start:end])
	t.mixed -= end
	t.Work.Spend(work.PerToken + 8*end)
	return end
}

// isLeetK reports whether the "<" at i is part of "|<", which is a k inside a word.
func isLeetK(text []byte, i int) bool {
	return text[i] == '<' && i > 0 && text[i-1] == '|' && i+1 < len(text) && asciiClass[text[i+1]&0x7f] == isALetter
}

func (t *Tokeniser) addDense(letters string) {
	for i, r := range letters {
		t.append([]byte(letters[i:i+utf8.RuneLen(r)]), true)
	}
}

// addWord adds w if it is a word: no link, address or host name.
func (t *Tokeniser) addWord(w []byte) {
	if len(w) == 0 {
		return
	}
	w = t.shown(w)
	if i := bytes.LastIndexByte(w, '@'); i >= 0 && isHost(trimPunctuation(w[i+1:])) {
		return
	}
	if bytes.IndexByte(w, '.') >= 0 || bytes.IndexByte(w, ':') >= 0 {
		if w = cutLink(w); bytes.Count(w, []byte(".")) < joinedWords && isHost(trimPunctuation(w)) {
			return
		}
	}
	if len(w) >= longWord && t.addJoined(w) {
		return
	}
	if bytes.ContainsAny(w, `\|(`) {
		w = []byte(drawn.Replace(string(w)))
	}
	t.letters.reset()
	t.long += t.letters.pushMixed(w)
	t.append(t.letters.word(), false)
}

// joinedWords is the number of words in one token from which on the signs between them
// stand for blanks, as in "buy-now-and-get-two".
const joinedWords = 5

// addJoined adds the words of w if they are several, joined by signs. Pieces with digits
// are skipped, as those of identifiers have some.
func (t *Tokeniser) addJoined(w []byte) bool {
	words := bytes.FieldsFuncSeq(w, func(r rune) bool { return !isAlphanumeric(r) && !isLetter(r) && r != '\'' })
	count := 0
	for range words {
		if count++; count == joinedWords {
			break
		}
	}
	if count < joinedWords {
		return false
	}
	for word := range words { // not a list, which would need twelve times the memory of the text
		if bytes.ContainsAny(word, "0123456789") {
			continue
		}
		t.letters.reset()
		t.long += t.letters.pushMixed(word)
		t.append(t.letters.word(), false)
	}
	return true
}

// shown returns w with ASCII in lower case, the letters of Hangul as syllables, and without characters that show nothing:
// ignorable and control characters, and invalid bytes.
func (t *Tokeniser) shown(w []byte) []byte {
	out := t.lower[:0]
	for i := 0; i < len(w); {
		if c := w[i]; c < utf8.RuneSelf {
			i++
			switch {
			case 'A' <= c && c <= 'Z':
				out = append(out, c|0x20)
			case c >= ' ' && c != 0x7F:
				out = append(out, c)
			}
			continue
		}
		r, size := utf8.DecodeRune(w[i:])
		switch {
		case 0x300 <= r && r < 0x370, 0x7F <= r && r < 0xA0, r == utf8.RuneError, isIgnorable(r):
		default:
			if syllable, ok := joinHangul(out, r); ok {
				out = utf8.AppendRune(out[:len(out)-longestConjoiningCharacter], syllable)
				break
			}
			out = append(out, w[i:i+size]...)
		}
		i += size
	}
	t.lower = out
	return out
}

// drawn are letters drawn with several characters, longest first.
var drawn = strings.NewReplacer(`|\/|`, "m", `\/\/`, "w", `/\/\`, "m", `|\|`, "n", `/\/`, "n", `|-|`, "h", `|_|`, "u", `(_)`, "u",
	`|<`, "k", `|(`, "k", `|)`, "d", `|>`, "p", `|3`, "b", `|2`, "r", `|=`, "f", `|_`, "l", `_|`, "j", `\/`, "v", `/\`, "a", `()`, "o", `)(`, "x")

// glyph is the role of a character within a word.
type glyph uint8

const (
	saysNothing glyph = iota
	isALetter
	isADigit // stands for a letter among letters
	isASign  // stands for a letter among letters
)

var asciiClass = func() (table [utf8.RuneSelf]glyph) {
	for c := range table {
		switch {
		case asciiLetter[c] != 0:
			table[c] = isALetter
		case '0' <= c && c <= '9':
			table[c] = isADigit
		}
	}
	for _, c := range "$@|!+(" {
		table[c] = isASign
	}
	return table
}()

// leet is the letter that an ASCII digit or sign stands for.
var leet = [utf8.RuneSelf]byte{'0': 'o', '1': 'i', '2': 'z', '3': 'e', '4': 'a', '5': 's', '6': 'b', '7': 't', '8': 'b', '9': 'g',
	'$': 's', '@': 'a', '|': 'i', '!': 'i', '+': 't', '(': 'c'}

// classify returns the role of r and its folded form, which is "" if it is r itself.
func classify(r rune) (glyph, string) {
	if r < utf8.RuneSelf {
		return asciiClass[r], ""
	}
	if 0x300 <= r && r < 0x370 { // accents
		return saysNothing, ""
	}
	form, changed := looksLike().of(r)
	switch {
	case unicode.IsNumber(r):
		if !changed {
			return saysNothing, ""
		}
		return isADigit, form
	case isLetter(r) && !isPoint(r):
		return isALetter, form
	case changed && unicode.Is(unicode.So, r):
		return isALetter, form
	case changed && !unicode.IsMark(r):
		return isASign, form
	}
	return saysNothing, ""
}

// isPoint reports whether r is a mark of a script whose marks are accents, or points that
// most writers omit.
func isPoint(r rune) bool {
	return unicode.IsMark(r) && unicode.In(r, unicode.Inherited, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic)
}

// makeup counts the characters of a token.
type makeup struct{ letters, digits, run, leading int }

func makeupOf(w []byte) (m makeup) {
	run := 0
	for i := 0; i < len(w); {
		var c glyph
		if w[i] < utf8.RuneSelf {
			c = asciiClass[w[i]]
			i++
		} else {
			r, size := utf8.DecodeRune(w[i:])
			c, _ = classify(r)
			i += size
		}
		switch c {
		case isALetter:
			m.letters++
			run = 0
		case isADigit:
			m.digits++
			run++
			if m.letters == 0 {
				m.leading++
			}
			m.run = max(m.run, run)
		}
	}
	return m
}

// digitsAreLetters reports whether the digits of a token w stand for letters: they are
// few among letters, and w is no number with its unit.
func (m makeup) digitsAreLetters(w []byte) bool {
	if m.digits == 0 || m.run > 2 || m.digits > 2*m.letters {
		return false
	}
	return m.leading != m.digits || !units[string(bytes.TrimLeft(trimPunctuation(w), "0123456789.,:-/"))]
}

// units are written behind numbers.
var units = map[string]bool{"am": true, "pm": true, "st": true, "nd": true, "rd": true, "th": true, "mg": true, "ml": true,
	"kg": true, "gb": true, "mb": true, "kb": true, "km": true, "cm": true, "mm": true, "mhz": true, "ghz": true, "hz": true,
	"k": true, "m": true, "x": true, "h": true, "d": true, "s": true, "g": true, "c": true, "f": true, "min": true, "hr": true, "hrs": true,
	"yr": true, "yrs": true, "sec": true, "lb": true, "lbs": true, "oz": true, "ft": true, "in": true, "usd": true, "eur": true}

// pushMixed adds the letters of w, and the digits and signs that stand for letters. A
// sign does if it stands alone beside a letter; some signs that end words do only within. If w is
// too long for a word, it adds nothing, and returns the number of its letters.
func (f *foldedWord) pushMixed(w []byte) (tooMany int) {
	m := makeupOf(w)
	if m.letters == 0 || m.letters+m.digits >= longWord {
		return m.letters
	}
	digits := m.digitsAreLetters(w)
	for i := 0; i < len(w); {
		if c := w[i]; c < utf8.RuneSelf && asciiLetter[c] != 0 {
			f.pushOne(asciiLetter[c])
			i++
			continue
		}
		r, size := utf8.DecodeRune(w[i:])
		c, form := classify(r)
		if c == isALetter || c == isADigit && digits || c == isASign && signIsLetter(w, i, size) {
			f.pushForm(r, form, w[i:i+size])
		}
		i += size
	}
	return 0
}

func (f *foldedWord) pushForm(r rune, form string, itself []byte) {
	switch {
	case form == "" && r < utf8.RuneSelf && leet[r] != 0:
		f.push(leet[r])
	case form == "" && r < utf8.RuneSelf:
		f.push(asciiLetter[r])
	case form == "":
		f.pushLetter(itself)
	default:
		for i, l := range form {
			f.pushLetter([]byte(form[i : i+utf8.RuneLen(l)]))
		}
	}
}

// signIsLetter reports whether the sign at i stands for a letter. It does not beside the
// same sign, and signs that end or begin words do only within one.
func signIsLetter(w []byte, i, size int) bool {
	before, _ := utf8.DecodeLastRune(w[:i])
	after, _ := utf8.DecodeRune(w[i+size:])
	r, _ := utf8.DecodeRune(w[i:])
	if before == r || after == r {
		return false
	}
	followed := i+size < len(w) && isShape(after)
	preceded := i > 0 && isShape(before)
	switch r {
	case '!':
		return followed
	case '(', '©', '®', '™', '°':
		return followed && preceded
	}
	return followed || preceded
}

// isShape reports whether words have such a character.
func isShape(r rune) bool {
	c, _ := classify(r)
	return c != saysNothing
}
