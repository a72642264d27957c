package page

import (
	"testing"
	"unicode"
)

// A text of blanks and control characters shows nothing, whatever bytes it has.
func TestIsSeen(t *testing.T) {
	for r := range rune(0x3100) {
		text := []byte(" \t" + string(r))
		if want := unicode.IsGraphic(r) && !unicode.IsSpace(r); isSeen(text) != want {
			t.Errorf("%U is seen: %t", r, !want)
		}
	}
	if !isSeen([]byte("\u00a0a")) || !isSeen([]byte("\x80")) || isSeen(nil) {
		t.Error("a letter behind a wide blank, an invalid byte, nothing")
	}
}
