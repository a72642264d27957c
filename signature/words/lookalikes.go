package words

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:generate go test -run ^TestLookAlikesGenerated$ -update .

// lookAlikeList is the table as text: the folded form, in hexadecimal with "+"
// between characters, then the characters and ranges of them that become it.
//
//go:embed lookalikes.txt
var lookAlikeList string

// maxFoldable is the end of the characters in the table. Characters above it do not
// change.
const maxFoldable = 0x30000

// lookAlikes is the table for looking up: pages of 256 characters, each with the number
// of a form; 0 if the character does not change.
type lookAlikes struct {
	forms []string
	pages [maxFoldable >> 8]*[256]uint16
}

// looksLike returns the table. The first call makes it: most commands sign nothing.
var looksLike = sync.OnceValue(func() *lookAlikes { return readLookAlikes(lookAlikeList) })

func readLookAlikes(list string) *lookAlikes {
	table := &lookAlikes{forms: []string{""}}
	for line := range strings.Lines(list) {
		form, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if form == "" || form == "#" {
			continue
		}
		table.forms = append(table.forms, readForm(form))
		for rest != "" {
			var field string
			field, rest, _ = strings.Cut(rest, " ")
			first, last, isRange := strings.Cut(field, "-")
			if !isRange {
				last = first
			}
			table.set(hexRune(first), hexRune(last), uint16(len(table.forms)-1))
		}
	}
	return table
}

func readForm(field string) string {
	var form strings.Builder
	for field != "" {
		var digits string
		digits, field, _ = strings.Cut(field, "+")
		form.WriteRune(hexRune(digits))
	}
	return form.String()
}

// hexRune reads hexadecimal digits.
func hexRune(digits string) rune {
	r, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || r >= maxFoldable {
		panic("words: lookalikes.txt: no character: " + digits) // a test reads it
	}
	return rune(r)
}

func (t *lookAlikes) set(first, last rune, form uint16) {
	for r := first; r <= last; r++ {
		page := &t.pages[r>>8]
		if *page == nil {
			*page = new([256]uint16)
		}
		(*page)[r&0xff] = form
	}
}

// of returns the folded form of r, and whether it differs from r.
func (t *lookAlikes) of(r rune) (string, bool) {
	if r >= maxFoldable || t.pages[r>>8] == nil {
		return "", false
	}
	form := t.pages[r>>8][r&0xff]
	return t.forms[form], form != 0
}
