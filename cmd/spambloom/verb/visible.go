package verb

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Texts of messages and of other users reach a terminal: a queue id, a domain, a file's name. A
// control character in one of them could write to the terminal's title, or replace what the user
// reads.

// MessageName is the name of a message: its file, its place in one, or an ID. Any user who may
// create files chooses it. In text it is one line, because a line end could forge the verdict on
// another file. In JSON it is exact.
type MessageName string

func (n MessageName) String() string { return inLine(string(n)) }

// inLine returns text with a ? in place of line ends, tabs and colours, too: it has none of this program.
func inLine(text string) string {
	return strings.NewReplacer("\n", "?", "\t", "?", "\x1b", "?").Replace(visible(text))
}

// visible returns text with a ? in place of each character that a terminal acts on or that
// changes the direction of others, except for line ends, tabs, and the colours of this program.
func visible(text string) string {
	return replaced(text, func(rest string, _ rune) (own int, by string) {
		for _, s := range sequences {
			if strings.HasPrefix(rest, s) {
				return len(s), s
			}
		}
		return 0, "?"
	})
}

// sequences are the colours of this program. None of them moves the cursor.
var sequences = []string{
	"\x1b[0m", "\x1b[" + Bold + "m", "\x1b[" + Red + "m", "\x1b[" + Green + "m", "\x1b[" + Yellow + "m", "\x1b[" + Cyan + "m",
}

// visibleJSON returns the same JSON with such characters escaped.
func visibleJSON(text string) string {
	return replaced(text, func(_ string, r rune) (int, string) {
		if r > 0xffff {
			return 0, string(r) // a tag or a musical sign, without effect on terminals
		}
		return 0, fmt.Sprintf(`\u%04x`, r)
	})
}

// replaced returns text with what is not graphic replaced. rest begins with the character; own is
// the length of what by replaces, 0 for the character alone. Bytes that are no UTF-8 stay, unless
// they are controls in ISO 8859: the names of files may have them.
func replaced(text string, by func(rest string, r rune) (own int, by string)) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		isRaw := r == utf8.RuneError && n == 1
		if isRaw && text[i] >= 0xa0 || !isRaw && (r == '\n' || r == '\t' || unicode.IsGraphic(r)) {
			b.WriteString(text[i : i+n])
			i += n
			continue
		}
		own, instead := by(text[i:], r)
		b.WriteString(instead)
		i += max(n, own)
	}
	return b.String()
}
