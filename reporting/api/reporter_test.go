package api_test

import (
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
)

// TestFoldedNameIsFound: the name that reporters shows is that of the reporter, so that an administrator can
// copy it into undo. Of these letters only the lower case is one character.
func TestFoldedNameIsFound(t *testing.T) {
	for _, name := range []string{"Anna@Example.org", "J\u030coe", "H\u0331", "T\u0308", "W\u030a", "\u0130\u0301"} {
		folded := api.FoldReporter(name)
		if again := api.FoldReporter(folded); again != folded {
			t.Errorf("%q is kept as %q, and looked up as %q", name, folded, again)
		}
	}
}
