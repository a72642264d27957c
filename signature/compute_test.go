package signature_test

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/mail/mailtest"
	"github.com/spambloom/spambloom/signature/sketch/sketchtest"
)

// prose is enough text to be signed.
const prose = mailtest.Prose

// ampleProse is enough text to be signed beside a file.
const ampleProse = prose + "The chairman reminded everyone that timber had rotted within twenty winters, and that nobody could\n" +
	"remember who paid for repairs. Farmers living beyond the mill complained about heavy carts, narrow lanes,\n" +
	"spring floods; their children reach school by ferry only while calm weather lasts. A vote follows soon.\n"

// kinds lists the kinds of a set in order.
func kinds(s signature.Set) string {
	var names []string
	for _, sig := range s.Signatures {
		names = append(names, sig.Kind.String())
	}
	return strings.Join(names, " ")
}

func TestComputePlain(t *testing.T) {
	s := signature.Compute(signature.Parse([]byte("Subject: x\n\n" + prose)))
	if got := kinds(s); got != "body text" {
		t.Fatalf("kinds = %q, want body and text", got)
	}
	if len(s.Counting) != 1 || s.Counting[0].Kind != signature.KindText {
		t.Errorf("Counting = %v, want the text signature", s.Counting)
	}
}

// A reported text is found again in a copy that shows it where it counts as hidden, or as
// another author's. Nothing is reported of a sketch that is only asked.
func TestCopiesThatSeemEmpty(t *testing.T) {
	html := "Content-Type: text/html\n\n"
	keyed := sketchtest.KeyedBy(1)
	reported := sketchtest.Store{}
	reported.Report(signature.Compute(signature.Parse([]byte(html + "<p>" + ampleProse))).Sketches[0], keyed)
	for name, raw := range map[string]string{
		"moved out and in":     html + "<div style='margin-left:-900px;padding-left:900px'>" + ampleProse,
		"no width but a least": html + "<div style='width:0;min-width:90%;overflow:hidden'>" + ampleProse,
		"hidden, then shown":   html + "<style>.x{display:none} [class=x]{display:block}</style><p class=x>" + ampleProse,
		"a signature":          "\nHello\n-- \n" + ampleProse,
	} {
		s := signature.Compute(signature.Parse([]byte(raw))).Sketches
		if len(s) == 0 || !s[0].AskOnly || len(s[0].Reported(keyed)) != 0 {
			t.Errorf("%s: sketches %d", name, len(s))
			continue
		}
		if _, ok := reported.Found(s[0], keyed); !ok {
			t.Errorf("%s: not found", name)
		}
	}
	// An answer that is all below the mark of a signature has a sketch of its own.
	answer := signature.Compute(signature.Parse([]byte("In-Reply-To: <a@b.example>\n\nHello\n-- \n" + ampleProse))).Sketches
	if len(answer) != 1 || answer[0].AskOnly {
		t.Fatalf("an answer: sketches %d", len(answer))
	}
	if n, _ := reported.Found(answer[0], keyed); n > 0 {
		t.Errorf("an answer has %d keys of what it quotes", n)
	}
	for name, raw := range map[string]string{
		"nothing there": html + "<script>" + ampleProse + "</script><p>a",
	} {
		if s := signature.Compute(signature.Parse([]byte(raw))).Sketches; len(s) != 0 {
			t.Errorf("%s: sketches %d", name, len(s))
		}
	}
}
