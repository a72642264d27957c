package words

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// confusablesPath is Unicode's table of characters that look alike (UTS #39),
// version 15.0.0 of 2022-08-26, unchanged.
const confusablesPath = "testdata/confusables-15.0.0.txt.gz"

// ours are look-alikes that Unicode's table lacks, or does not have as ASCII letters.
// Fonts and keyboards offer them in place of letters.
var ours = pairs("ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ꞯq ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz ǫq " +
	"ɐa ɔc ǝe əe ɟf ƃg ɥh ᴉi ɾr ʞk ɹr ʇt ʌv ʍw ʎy " +
	"ðd þp øo đd łl ħh æae œoe ıi ŧt ßss ĸk ŋn ƞn ɛe ɜe ʃs ʒz ʔs ƨs ƽs ɸo ʉu ɨi ɉj ɍr ɏy ƶz ǥg ɇe ƀb " +
	"ꭤa ɘe ⲉe ⲓi ⲩy ꞃn ƫt ꞇt 𐍄t ꮷd ꜧh ᶌv ƅb ꮟb ⚬o ᧐o " +
	"€e £l ¥y ¢c §s ƒf µu ©c ®r ∂d ∑e ∆a ∏n √v ∩n ∪u ×x ∞o °o ♥o ★a ☆a " +
	"βb εe ηn μu πn λa σo ωw ζz θo τt φo κk ψw Δa Λa Σe Πn Θo Φo Ωo Ξe " +
	"яr иn йn шw щw цu чy бb дd зe эe юo ъb ыb ьb вb гr жx кk лn мm нh пn тt фo ёe єe ґr")

func pairs(list string) map[rune]string {
	m := make(map[rune]string)
	for pair := range strings.FieldsSeq(list) {
		r, size := rune([]rune(pair)[0]), len(string([]rune(pair)[0]))
		m[r] = pair[size:]
	}
	for i := range rune(26) {
		letter := string('a' + i)
		m['\U0001F150'+i], m['\U0001F170'+i], m['\U0001F1E6'+i] = letter, letter, letter
	}
	return m
}

func readConfusables(tb testing.TB) map[rune]string {
	tb.Helper()
	packed, err := os.ReadFile(confusablesPath)
	if err != nil {
		tb.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		tb.Fatal(err)
	}
	m := make(map[rune]string)
	for s := bufio.NewScanner(z); s.Scan(); {
		fields := strings.Split(strings.TrimPrefix(s.Text(), "\ufeff"), ";")
		if strings.HasPrefix(fields[0], "#") || len(fields) < 3 {
			continue
		}
		source, target := hexRunes(tb, fields[0]), hexRunes(tb, fields[1])
		m[source[0]] = string(target)
	}
	if len(m) < 5000 {
		tb.Fatalf("%d look-alikes read", len(m))
	}
	return m
}

func hexRunes(tb testing.TB, field string) (runes []rune) {
	tb.Helper()
	for digits := range strings.FieldsSeq(field) {
		r, err := strconv.ParseUint(digits, 16, 32)
		if err != nil {
			tb.Fatal(err)
		}
		runes = append(runes, rune(r))
	}
	return runes
}

// leetOf is the letter that a digit stands for.
var leetOf = map[rune]rune{'0': 'o', '1': 'i', '2': 'z', '3': 'e', '4': 'a', '5': 's', '6': 'b', '7': 't', '8': 'b', '9': 'g'}

// folder derives the table from its sources.
type folder struct{ confusables map[rune]string }

// fold returns what r becomes: its canonical letters, itself if it looks like nothing
// else, "" if it is ignored.
func (f folder) fold(r rune, depth int) string {
	if r < 0x80 {
		if l := leetOf[r]; l != 0 {
			r = l
		}
		if l := asciiLetter[r]; l != 0 {
			return string(rune(l))
		}
		return ""
	}
	if f.stays(r) || depth == 0 {
		return string(r)
	}
	if unicode.IsMark(r) && (isIgnorable(r) || unicode.In(r, pointed...)) {
		return ""
	}
	target, ok := ours[r]
	if !ok {
		target, ok = f.lettersOf(f.confusables[r])
	}
	for _, change := range []func() string{
		func() string { return stripMarks(norm.NFD.String(string(r))) },
		func() string { return norm.NFKC.String(string(r)) },
		func() string { return string(unicode.ToLower(r)) },
		func() string { return f.prototype(r) },
	} {
		if !ok {
			target = change()
			ok = target != "" && target != string(r)
		}
	}
	if !ok {
		return string(r)
	}
	var out strings.Builder
	for _, t := range target {
		out.WriteString(f.fold(t, depth-1))
	}
	letters := strings.Map(func(r rune) rune {
		if isLetter(r) {
			return r
		}
		return -1
	}, out.String())
	if letters == "" {
		return string(r)
	}
	return letters
}

// prototype returns what r looks like. Scripts in which each character is a token are not
// mixed with others.
func (f folder) prototype(r rune) string {
	if target := f.confusables[r]; !strings.ContainsFunc(string(r)+target, isDense) {
		return target
	}
	return ""
}

// stays reports whether r does not change: its script has shapes of its own, and each
// character is a token or a syllable.
func (f folder) stays(r rune) bool {
	return isDense(r) && norm.NFKC.String(string(r)) == string(r) || unicode.Is(unicode.Hangul, r)
}

// pointed are scripts whose marks are accents, or points that most writers omit.
var pointed = []*unicode.RangeTable{unicode.Inherited, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic}

// lettersOf returns target if it is letters and digits of ASCII, without marks.
func (f folder) lettersOf(target string) (string, bool) {
	target = stripMarks(norm.NFD.String(target))
	letters := strings.Map(func(r rune) rune {
		if isAlphanumeric(r) && r < 0x80 {
			return r
		}
		return -1
	}, target)
	other := strings.ContainsFunc(target, func(r rune) bool { return r >= 0x80 && isLetter(r) })
	return letters, letters != "" && !other
}

func stripMarks(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) && unicode.In(r, pointed...) {
			return -1
		}
		return r
	}, s)
}

// table returns the text of lookalikes.txt.
func (f folder) table() []byte {
	sources := make(map[string][]rune)
	for r := rune(0x80); r < maxFoldable; r++ {
		if !unicode.IsGraphic(r) || isIgnorable(r) || unicode.IsSpace(r) {
			continue
		}
		if to := f.fold(r, 8); to != string(r) && to != "" {
			sources[to] = append(sources[to], r)
		}
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, "# What characters look like: made by go generate from Unicode's confusables.txt")
	fmt.Fprintln(&b, "# (UTS #39, 15.0.0), its normal forms and lookalikes_test.go. The folded form,")
	fmt.Fprintln(&b, "# then what becomes it.")
	for _, to := range slices.Sorted(maps.Keys(sources)) {
		for i, r := range to {
			if i > 0 {
				b.WriteByte('+')
			}
			fmt.Fprintf(&b, "%04X", r)
		}
		for runs := sources[to]; len(runs) > 0; {
			n := 1
			for n < len(runs) && runs[n] == runs[0]+rune(n) {
				n++
			}
			if fmt.Fprintf(&b, " %04X", runs[0]); n > 1 {
				fmt.Fprintf(&b, "-%04X", runs[n-1])
			}
			runs = runs[n:]
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

var update = flag.Bool("update", false, "rewrite lookalikes.txt")

// The table is made from its sources. With -update it is written.
func TestLookAlikesGenerated(t *testing.T) {
	got := folder{readConfusables(t)}.table()
	if *update {
		testenv.Check(t, os.WriteFile("lookalikes.txt", got, 0o644))
		return
	}
	if !bytes.Equal(got, []byte(lookAlikeList)) {
		t.Error("lookalikes.txt is not what its sources say: run go generate")
	}
}
