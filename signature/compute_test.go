package signature

import (
	"strings"
	"testing"
)

// prose is enough text to be signed.
const prose = "The committee met on Thursday to look at the plans for a new bridge across the river.\n" +
	"Several engineers spoke in favour of stone, others of steel, and a few of doing nothing at all.\n"

// ampleProse is enough text to be signed beside a file.
const ampleProse = prose + "The chairman reminded everyone that timber had rotted within twenty winters, and that nobody could\n" +
	"remember who paid for repairs. Farmers living beyond the mill complained about heavy carts, narrow lanes,\n" +
	"spring floods; their children reach school by ferry only while calm weather lasts. A vote follows soon.\n"

// kinds lists the kinds of a set in order.
func kinds(s Set) string {
	var names []string
	for _, sig := range s.Signatures {
		names = append(names, sig.Kind.String())
	}
	return strings.Join(names, " ")
}

func TestComputePlain(t *testing.T) {
	s := Compute(Parse([]byte("Subject: x\n\n" + prose)))
	if got := kinds(s); got != "body text text2" {
		t.Fatalf("kinds = %q, want body and text", got)
	}
	if len(s.Counting) != 1 || s.Counting[0].Kind != KindText2 {
		t.Errorf("Counting = %v, want the text signature", s.Counting)
	}
}
