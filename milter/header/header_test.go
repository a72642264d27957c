package header_test

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/milter/header"
	"github.com/spambloom/spambloom/signature"
)

// A body that begins with another header than the message's is kept, and costs no memory however many
// fields that has: it would be booked nowhere.
func TestBodyOfFields(t *testing.T) {
	own := []signature.Field{{Name: "From", Value: "anna@example.org"}, {Name: "Subject", Value: "x"}}
	for name, begin := range map[string]string{"other fields": "", "the header and other fields": "From: anna@example.org\nsubject: x\n"} {
		body := []byte(begin + strings.Repeat("ab:cd\n", 100_000))
		var kept []byte
		allocs := testing.AllocsPerRun(1, func() { kept = header.Strip(body, own, false) })
		if len(kept) != len(body) || allocs > 100 {
			t.Errorf("%s: %d of %d bytes kept, %v allocations", name, len(kept), len(body), allocs)
		}
	}
}
