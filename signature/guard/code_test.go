package guard_test

import (
	"testing"

	"github.com/spambloom/spambloom/signature/guard"
)

func TestHasCode(t *testing.T) {
	for text, want := range map[string]bool{
		"code 4829": true, "code: 48291376.": true, "482-913": true, "482 913": true, "G-482913": true, "K7Q2M9": true,
		"验证码482913，": true, "code 123": false, "in 2026": false, "1999": false, "123456789": false, "call 482 9": false,
		"HELLO": false, "abc123": false, "": false, "ABCDEFGHIJ12": false, "A1": false,
	} {
		if got := guard.HasCode([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// FuzzCode: looking for a code ends, whatever the text.
func FuzzCode(f *testing.F) {
	f.Fuzz(func(_ *testing.T, text string) {
		guard.HasCode([]byte(text))
		guard.IsCalendarMethod([]byte(text))
	})
}
