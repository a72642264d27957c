package words

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/span"
)

// A long token is cut into pieces. The sign at its end makes all of them mixed. The letters are read once to
// find it, and each piece gives the same words as if they were read again.
func TestLongMixedToken(t *testing.T) {
	letters := 3*maxToken + maxToken/2
	text := []byte(strings.Repeat("ab", letters/2) + "@x plain " + strings.Repeat("buy-now-", 3*maxToken/8) + "é end")
	var known, unknown Tokeniser
	for pos, want := 0, letters; want > 0; want -= maxToken {
		n := known.addPiece(text[pos:])
		if pos += n; n < maxToken && want > maxToken || known.mixed != want-n {
			t.Fatalf("up to %d: %d bytes were added, and the sign is %d further, want %d", pos, n, known.mixed, want-n)
		}
	}
	quotes := []span.Span{{Start: maxToken + 10, End: len(text) - 4, By: span.ByOther}}
	known.Restart()
	known.Add(text, quotes, nil)
	for pos := 0; pos < len(text); {
		if size := blankSize(text[pos:]); size > 0 {
			pos += size
			continue
		}
		unknown.by = span.ByAuthor
		if quotes[0].Start <= pos && pos < quotes[0].End {
			unknown.by = quotes[0].By
		}
		unknown.mixed = 0
		pos += unknown.addPiece(text[pos:])
	}
	if string(known.Text) != string(unknown.Text) || len(known.Tokens) != len(unknown.Tokens) {
		t.Fatalf("%d bytes in %d tokens, want %d in %d", len(known.Text), len(known.Tokens), len(unknown.Text), len(unknown.Tokens))
	}
	for i := range known.Tokens {
		if known.Tokens[i] != unknown.Tokens[i] {
			t.Fatalf("token %d is %+v, want %+v", i, known.Tokens[i], unknown.Tokens[i])
		}
	}
}
