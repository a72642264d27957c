package words

import "unicode/utf8"

// Conjoining letters of Hangul that follow each other are shown as one syllable (Unicode Standard, section 3.12). Programs
// write it in either form.
const (
	hangulSyllables            = 0xAC00
	hangulFirst, hangulFirsts  = 0x1100, 19
	hangulVowel, hangulVowels  = 0x1161, 21
	hangulLast, hangulSorts    = 0x11A7, 28 // no syllable ends with the first of them
	longestConjoiningCharacter = 3          // bytes in UTF-8
)

// joinHangul returns the syllable of the last character of text and r.
func joinHangul(text []byte, r rune) (syllable rune, ok bool) {
	if r < hangulVowel || r >= hangulLast+hangulSorts || len(text) < longestConjoiningCharacter {
		return 0, false
	}
	last, _ := utf8.DecodeLastRune(text)
	switch before, vowel, end := last-hangulFirst, r-hangulVowel, r-hangulLast; {
	case 0 <= before && before < hangulFirsts && vowel < hangulVowels:
		return hangulSyllables + (before*hangulVowels+vowel)*hangulSorts, true
	case end > 0 && isOpenSyllable(last):
		return last + end, true
	}
	return 0, false
}

// isOpenSyllable reports whether r is a syllable without letters behind its vowel.
func isOpenSyllable(r rune) bool {
	return hangulSyllables <= r && r < hangulSyllables+hangulFirsts*hangulVowels*hangulSorts && (r-hangulSyllables)%hangulSorts == 0
}
