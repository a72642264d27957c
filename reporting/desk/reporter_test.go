package desk_test

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/desk"
)

// A name of which only the lower case is too long is not folded. It is a trap's nevertheless.
func TestIsTrap(t *testing.T) {
	long := strings.Repeat("\u023a", 124) // two bytes each, and three in lower case
	for name, want := range map[string]bool{
		"trap:lure": true, "TRAP:lure": true, "Trap:": true, "trap:" + long: true, "TRAP:" + long: true,
		"": false, "trap": false, "atrap:lure": false, "anna": false, "tra\u212a:": false,
	} {
		if got := desk.IsTrap(name); got != want {
			t.Errorf("%.20q is a trap: %v, want %v", name, got, want)
		}
	}
}
