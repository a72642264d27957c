package words

import (
	"hash/maphash"
	"unicode/utf8"
)

// Amount is an amount of content of a text.
type Amount struct {
	letters int // weighed by weight; folding leaves 96 of 100
	words   int // different ones
}

var (
	// Brief is what a text needs to sign. Shorter texts are lines that people write to
	// each other every day: their signature would identify no message.
	Brief = Amount{letters: 96, words: 12}
	// Few is what a text needs to sign together with a link.
	Few = Amount{letters: 16, words: 4}
	// Several is what it needs with a link to the recipients' own domain, which is in the signature block of all mail
	// within a firm.
	Several = Amount{letters: 32, words: 8}
	// Ample is what a text needs where such lines are longer: beside a file ("good
	// morning, please find attached the invoice for this month"), and in an automatic
	// reply ("thank you for your message, I am out of the office").
	Ample = Amount{letters: 288, words: maxWords}
)

const (
	// maxWords bounds the different words that are counted.
	maxWords = 40
)

// IsEnough reports whether normalised text, without its boilerplate, has the content
// needed. In scripts without blanks each letter counts as a word.
func IsEnough(text []byte, need Amount) bool {
	n, ok := lengthOf(text, need)
	if !ok || len(text) > maxBoilerplate {
		return ok
	}
	p := boilerplate()
	if len(p.find(text, n, nil)) == 0 { // as in most texts
		return true
	}
	return HasContent(withoutBoilerplate(text, p), need)
}

// HasContent is IsEnough with boilerplate counted.
func HasContent(text []byte, need Amount) bool {
	_, ok := lengthOf(text, need)
	return ok
}

// lengthOf returns the length of the beginning of text that has the content needed. It is not
// ok if text has less.
func lengthOf(text []byte, need Amount) (n int, ok bool) {
	letters := 0
	var words different
	for letters < need.letters || words.count < need.words {
		for n < len(text) && text[n] == ' ' {
			n++
		}
		if n == len(text) {
			return n, false
		}
		word := text[n : n+wordLength(text[n:])]
		n += len(word)
		if words.count < need.words {
			words.add(word)
		}
		letters += weightOf(word)
	}
	return n, true
}

// different is a set of words, up to maxWords of them.
type different struct {
	words [maxWords][]byte
	count int
	slots [2 * maxWords]uint8 // number in words, from 1 on, by hash; open addressing
}

// wordSeed makes the places of words different in each process, so that nobody can choose
// words of one place.
var wordSeed = maphash.MakeSeed()

func (d *different) add(word []byte) {
	slot := maphash.Bytes(wordSeed, word) % uint64(len(d.slots))
	for ; d.slots[slot] != 0; slot = (slot + 1) % uint64(len(d.slots)) {
		if string(d.words[d.slots[slot]-1]) == string(word) {
			return
		}
	}
	d.words[d.count] = word
	d.count++
	d.slots[slot] = uint8(d.count)
}

// weightOf returns the weight of the letters of a word.
func weightOf(word []byte) int {
	sum := 0
	for i := 0; i < len(word); {
		if word[i] < utf8.RuneSelf {
			sum++
			i++
			continue
		}
		r, size := utf8.DecodeRune(word[i:])
		sum += weight(r)
		i += size
	}
	return sum
}

// weight returns how much a letter counts. A Han character or a Kana has about the
// content of three letters of an alphabet, a Hangul syllable that of two.
func weight(r rune) int {
	switch {
	case 0xAC00 <= r && r <= 0xD7A3:
		return 2
	case 0x3005 <= r && isDense(r):
		return 3
	}
	return 1
}

// wordLength returns the length of the word with which text begins.
func wordLength(text []byte) int {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c == ' ' {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case isDense(r) && i == 0:
			return size
		case isDense(r):
			return i
		}
		i += size
	}
	return len(text)
}
