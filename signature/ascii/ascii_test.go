package ascii_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature/ascii"
)

// Comparing without case agrees with package strings on ASCII, and has no other letters.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lower := rapid.StringMatching(`[a-z0-9:/@.\[{-]{0,8}`).Draw(t, "word")
		b := []byte(rapid.StringMatching(`[a-zA-Z0-9:/@.\[{;\r-]{0,12}`).Draw(t, "text"))
		if rapid.Bool().Draw(t, "is the word") {
			b = []byte(strings.ToUpper(lower))
		}
		text := string(b)
		if got, want := ascii.EqualFold(b, lower), strings.EqualFold(text, lower); got != want {
			t.Fatalf("%q and %q: equal %t, want %t", text, lower, got, want)
		}
		if got, want := ascii.HasPrefixFold(b, lower), strings.HasPrefix(strings.ToLower(text), lower); got != want {
			t.Fatalf("%q begins with %q: %t, want %t", text, lower, got, want)
		}
		if got, want := ascii.HasSuffixFold(b, lower), strings.HasSuffix(strings.ToLower(text), lower); got != want {
			t.Fatalf("%q ends with %q: %t, want %t", text, lower, got, want)
		}
		if got, want := ascii.AppendLower([]byte("X"), b), append([]byte("X"), strings.ToLower(text)...); !bytes.Equal(got, want) {
			t.Fatalf("%q in lower case is %q, want %q", text, got, want)
		}
	})
	if ascii.HasPrefixFold([]byte("\u212a"), "k") {
		t.Error("the sign of Kelvin is folded")
	}
}

// Only capital letters change, wherever they stand.
func TestAppendLower(t *testing.T) {
	var text, want []byte
	for range 11 { // 257 bytes each, so that every byte has every place in a word of eight
		for c := range 257 {
			text = append(text, byte(c))
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			want = append(want, byte(c))
		}
	}
	for from := range 9 {
		if got := ascii.AppendLower(nil, text[from:]); !bytes.Equal(got, want[from:]) {
			t.Fatalf("from %d: %q", from, got)
		}
	}
}

func TestClasses(t *testing.T) {
	for c := range 256 {
		b := byte(c)
		isLetter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
		isDigit := '0' <= b && b <= '9'
		if ascii.IsLetter(b) != isLetter || ascii.IsAlphanumeric(b) != (isLetter || isDigit) {
			t.Errorf("%q: letter %t, alphanumeric %t", b, ascii.IsLetter(b), ascii.IsAlphanumeric(b))
		}
		if got, want := ascii.IsHex(b), strings.IndexByte("0123456789abcdefABCDEF", b) >= 0; got != want {
			t.Errorf("%q: hexadecimal %t, want %t", b, got, want)
		}
		if got, want := ascii.IsSpace(b), strings.IndexByte(" \t\n\r\f", b) >= 0; got != want {
			t.Errorf("%q: white space %t, want %t", b, got, want)
		}
		if got, want := ascii.Is([]byte("12345678"+string([]byte{b})+"9")), b < 0x80 && b != 0x1b; got != want {
			t.Errorf("%q: ASCII %t, want %t", b, got, want)
		}
	}
	for i, c := range "0123456789abcdef" {
		if got := ascii.Unhex(byte(c)); int(got) != i {
			t.Errorf("%q is %d", c, got)
		}
	}
	if ascii.Unhex('F') != 15 || !ascii.ContainsAny([]byte("a list"), [][]byte{[]byte("x"), []byte("li")}) || ascii.ContainsAny([]byte("a"), nil) {
		t.Error("F is not 15, or a word is not found")
	}
}
