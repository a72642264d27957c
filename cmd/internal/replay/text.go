package replay

import (
	"strings"
	"unicode"
)

// Likeness is the similarity of two texts as sets of shingles, which are runs of three
// words.
type Likeness struct {
	Jaccard float64 `json:"jaccard"` // share of common ones among all
	AInB    float64 `json:"a_in_b"`  // share of the first text's shingles in the second
	BInA    float64 `json:"b_in_a"`  // share of the second text's shingles in the first
}

// shingleWords is the number of words in a shingle.
const shingleWords = 3

// Texts compares two normalised texts. A text shorter than a shingle counts as one.
func Texts(a, b string) Likeness {
	x, y := shingles(a), shingles(b)
	if len(x) == 0 || len(y) == 0 {
		return Likeness{}
	}
	both := 0
	for s := range x {
		if y[s] {
			both++
		}
	}
	share := func(of int) float64 { return float64(both) / float64(of) }
	return Likeness{share(len(x) + len(y) - both), share(len(x)), share(len(y))}
}

// shingles returns the distinct shingles of a text.
func shingles(text string) map[string]bool {
	words := split(text)
	set := make(map[string]bool)
	for i := range words {
		if last := i + shingleWords; last <= len(words) || i == 0 {
			set[strings.Join(words[i:min(last, len(words))], " ")] = true
		}
	}
	return set
}

// split splits a text into words, and text in scripts without blanks into characters.
func split(text string) []string {
	var words []string
	for _, w := range strings.Fields(text) {
		begin := 0
		for i, r := range w {
			if !isUnspaced(r) {
				continue
			}
			if begin < i {
				words = append(words, w[begin:i])
			}
			begin = i + len(string(r))
			words = append(words, w[i:begin])
		}
		if begin < len(w) {
			words = append(words, w[begin:])
		}
	}
	return words
}

// isUnspaced reports whether a character belongs to a script without blanks between words.
func isUnspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
