package words

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// disguises returns what can stand for each letter: the look-alikes of Unicode's own
// table, and leet signs.
func disguises(tb testing.TB) map[rune][]string {
	confusables := readConfusables(tb)
	m := make(map[rune][]string)
	for source, target := range confusables {
		if source < 0x80 || unicode.IsMark(source) || isDense(source) || unicode.Is(unicode.Hangul, source) {
			continue
		}
		t := []rune(norm.NFC.String(target))
		if len(t) == 1 && t[0] < 0x80 && unicode.IsLetter(t[0]) {
			for _, l := range []rune{t[0], unicode.ToLower(t[0])} {
				m[l] = append(m[l], string(source))
			}
		}
	}
	for _, pair := range strings.Fields("o0 i1 i| l1 l| e3 a4 a@ s5 s$ t7 t+ b8 g9 c( mrn wvv k|< w\\/\\/ h|-|") {
		m[rune(pair[0])] = append(m[rune(pair[0])], pair[1:])
	}
	return m
}

// disguise replaces a share of the letters of a text.
func disguise(text string, share float64, as map[rune][]string, random *rand.Rand) string {
	var b strings.Builder
	for _, r := range text {
		if choices := as[r]; len(choices) > 0 && random.Float64() < share {
			b.WriteString(choices[random.IntN(len(choices))])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// If 60 % of all letters are replaced, nearly all words stay the same.
func TestDisguise(t *testing.T) {
	as := disguises(t)
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 1))
		total, same := 0, 0
		for range 40 {
			for word := range strings.FieldsSeq(ampleProse) {
				disguised := disguise(word, 0.6, as, random)
				total++
				if got, want := folded(disguised), folded(word); got == want {
					same++
				} else if testing.Verbose() {
					t.Logf("%q, disguised as %q (%+q), becomes %q", word, disguised, disguised, got)
				}
			}
		}
		if same*100 < total*95 {
			t.Errorf("seed %d: %d of %d words stay the same, want 95 %%", seed, same, total)
		}
		t.Logf("seed %d: %d of %d words stay the same", seed, same, total)
	}
}
