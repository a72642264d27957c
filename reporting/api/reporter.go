package api

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxReporter is the length of the longest reporter's name in bytes, which is that of the
// longest address (RFC 5321, section 4.5.3.1.3, without the brackets).
const MaxReporter = 254

// CheckReporter returns an error if a name is too long or contains anything but visible
// characters, which would disturb logs. The empty name is allowed.
func CheckReporter(name string) error {
	if len(name) > MaxReporter {
		return fmt.Errorf("reporter of %d bytes; at most %d", len(name), MaxReporter)
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("reporter %q is not UTF-8", name)
	}
	for _, r := range name {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return fmt.Errorf("reporter %q: %q is not allowed in a name", name, r)
		}
	}
	return nil
}

// FoldReporter returns the name under which a reporter is kept. Case does not matter: a program
// that reports for others passes on names that somebody has typed, and Anna@Example.org is
// the same person as anna@example.org. The folded name of a folded name is that name: of some letters
// with an accent, such as J̌, only the lower case is one character.
func FoldReporter(name string) string {
	if folded := norm.NFC.String(strings.ToLower(norm.NFC.String(name))); len(folded) <= MaxReporter {
		return folded
	}
	return name
}
