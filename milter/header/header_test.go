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

// A line that begins the body, without an empty line before it, is kept where the fields before it have been
// taken. One that begins with "From " is not taken for that of an mbox.
func TestTakeBeforeFrom(t *testing.T) {
	for _, line := range []string{"From here on", ">From here on", "no field"} {
		for cut := range len(line) + 1 {
			var h header.Head
			h.Add([]byte("a: b\n" + line[:cut]))
			for range 2 {
				if !h.Take(header.Piece, func(signature.Field) {}) {
					t.Fatalf("%q: the body has begun", h)
				}
			}
			h.Add([]byte(line[cut:] + "\nno field\n"))
			h.Take(header.Piece, func(signature.Field) {})
			if m := signature.Parse(h); string(m.Body) != line+"\nno field\n" {
				t.Errorf("cut behind %d bytes: the body %q", cut, m.Body)
			}
		}
	}
}
