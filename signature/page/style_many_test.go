package page_test

import (
	"strings"
	"testing"
)

// A background of very many fields is looked through once: a look for a parenthesis at each field would
// take many minutes here.
func TestBackgroundOfManyFields(t *testing.T) {
	fields := strings.Repeat("a ", 4<<20)
	for background, want := range map[string]string{fields + "white": "x", fields + "( white": "x y"} {
		if got := shows("x <b style='color:#fff;background:" + background + "'>y</b>"); got != want {
			t.Errorf("a background that ends with %q: shows %q, want %q", background[len(background)-8:], got, want)
		}
	}
}
