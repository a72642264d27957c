package variation

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
)

// isWord reports whether a word has a letter, so that a spammer can replace it.
func isWord(word string) bool { return strings.ContainsFunc(word, unicode.IsLetter) }

func swapWords(share float64) func(*draw, *message.Mail) bool {
	return func(d *draw, m *message.Mail) bool {
		if len(d.from.Words) == 0 {
			return false
		}
		return m.EditWords(func(word string) string {
			if !isWord(word) || !d.chance(share) {
				return word
			}
			core := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
			return strings.Replace(word, core, one(d, d.from.Words), 1)
		})
	}
}

// intersperse adds random words after each word, so that few runs of words remain, or none.
func intersperse(least, most int) func(*draw, *message.Mail) bool {
	return func(d *draw, m *message.Mail) bool {
		if len(d.from.Words) == 0 {
			return false
		}
		return m.EditWords(func(word string) string {
			if !isWord(word) {
				return word
			}
			n := least
			if most > least {
				n += d.IntN(most - least + 1)
			}
			for range n {
				word += " " + one(d, d.from.Words)
			}
			return word
		})
	}
}

// mistype leaves a letter out, doubles one, or exchanges two.
func mistype(d *draw, m *message.Mail) bool {
	return m.EditWords(func(word string) string {
		letters := []rune(word)
		if len(letters) < 4 || !isWord(word) || !d.chance(0.05) {
			return word
		}
		i := 1 + d.IntN(len(letters)-2)
		switch d.IntN(3) {
		case 0:
			letters = slices.Delete(letters, i, i+1)
		case 1:
			letters = slices.Insert(letters, i, letters[i])
		default:
			letters[i], letters[i-1] = letters[i-1], letters[i]
		}
		return string(letters)
	})
}

func changeSpaces(d *draw, m *message.Mail) bool {
	return m.EditRead(func(text string) string {
		var out strings.Builder
		for i, r := range text {
			between := r == ' ' && i > 0 && i+1 < len(text) && isPlainLetter(text[i-1]) && isPlainLetter(text[i+1])
			switch {
			case between && d.chance(0.03):
			case between && d.chance(0.3):
				out.WriteString("  ")
			default:
				out.WriteRune(r)
			}
		}
		return out.String()
	})
}

func isPlainLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// joinWords puts hyphens in place of blanks, and into words.
func joinWords(d *draw, m *message.Mail) bool {
	return m.EditRead(func(text string) string {
		fields := message.WordPattern.FindAllStringIndex(text, -1)
		var out strings.Builder
		at := 0
		for _, f := range fields {
			blank, word := text[at:f[0]], text[f[0]:f[1]]
			at = f[1]
			if blank == " " && out.Len() > 0 && isWord(word) && !message.IsLink(word) && d.chance(0.05) {
				blank = "-"
			}
			out.WriteString(blank)
			if cut := cutPlace(d, word); cut > 0 && d.chance(0.05) {
				word = word[:cut] + "-" + word[cut:]
			}
			out.WriteString(word)
		}
		out.WriteString(text[at:])
		return out.String()
	})
}

func addWords(before bool) func(*draw, *message.Mail) bool {
	return func(d *draw, m *message.Mail) bool {
		if len(d.from.Words) == 0 {
			return false
		}
		text := wrap(d.words(20+d.IntN(31)), 70)
		if before {
			return m.PrependAll(text)
		}
		return m.AppendAll(text)
	}
}

var zeroWidth = []string{"\u200b", "\u200c", "\u200d", "\u2060", "\u00ad", "\ufeff"}

func insertZeroWidth(d *draw, m *message.Mail) bool {
	return m.EditWords(func(word string) string {
		at := cutPlace(d, word)
		if at == 0 || !d.chance(1.0/3) {
			return word
		}
		return word[:at] + one(d, zeroWidth) + word[at:]
	})
}

func changeCase(d *draw, m *message.Mail) bool {
	return m.EditWords(func(word string) string {
		if !d.chance(1.0/3) || utf8.RuneCountInString(word) != len(word) {
			return word
		}
		return strings.ToUpper(word)
	})
}

var accented = map[rune]string{'a': "áàâäã", 'e': "éèêë", 'i': "íìîï", 'o': "óòôöõ", 'u': "úùûü", 'y': "ýÿ",
	'A': "ÁÀÂÄÃ", 'E': "ÉÈÊË", 'I': "ÍÌÎÏ", 'O': "ÓÒÔÖÕ", 'U': "ÚÙÛÜ", 'Y': "Ý"}

func addAccents(d *draw, m *message.Mail) bool {
	return m.EditLetters(replaceLetters(d, accented, 0.30))
}

var leetSigns = map[rune]string{'a': "4@", 'b': "8", 'e': "3", 'g': "9", 'i': "1!", 'l': "1", 'o': "0", 's': "5$", 't': "7",
	'A': "4@", 'B': "8", 'E': "3", 'G': "9", 'I': "1!", 'L': "1", 'O': "0", 'S': "5$", 'T': "7"}

func leet(d *draw, m *message.Mail) bool { return m.EditLetters(replaceLetters(d, leetSigns, 0.50)) }

func replaceLetters(d *draw, table map[rune]string, share float64) func(rune) string {
	return func(r rune) string {
		if signs := table[r]; signs != "" && d.chance(share) {
			return string(one(d, []rune(signs)))
		}
		return string(r)
	}
}

// alike are letters of other scripts that look like Latin ones (Unicode Technical
// Standard 39, confusables.txt). The mathematical and full-width forms, which
// every letter has, are computed.
var alike = map[rune]string{'a': "аα", 'c': "сϲ", 'd': "ԁ", 'e': "еҽ", 'g': "ɡ", 'h': "һ", 'i': "іι", 'j': "ј", 'k': "κ",
	'l': "ӏ", 'n': "ո", 'o': "оο", 'p': "рρ", 'q': "ԛ", 's': "ѕ", 'u': "υս", 'v': "ѵν", 'w': "ԝ", 'x': "х", 'y': "уγ",
	'A': "АΑ", 'B': "ВΒ", 'C': "СϹ", 'E': "ЕΕ", 'H': "НΗ", 'I': "ІΙ", 'J': "Ј", 'K': "КΚ", 'M': "МΜ", 'N': "Ν", 'O': "ОΟ",
	'P': "РΡ", 'S': "Ѕ", 'T': "ТΤ", 'X': "ХΧ", 'Y': "ҮΥ", 'Z': "Ζ"}

func lookAlikes(share float64) func(*draw, *message.Mail) bool {
	return func(d *draw, m *message.Mail) bool {
		return m.EditLetters(func(r rune) string {
			if r > 'z' || !isPlainLetter(byte(r)) || !d.chance(share) {
				return string(r)
			}
			signs := []rune(alike[r])
			if r >= 'a' {
				signs = append(signs, r-'a'+0x1d5ba, r-'a'+0xff41) // sans-serif, full-width
			} else {
				signs = append(signs, r-'A'+0x1d5a0, r-'A'+0xff21)
			}
			return string(one(d, signs))
		})
	}
}
