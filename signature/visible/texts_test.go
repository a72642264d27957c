package visible_test

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/visible"
	"github.com/spambloom/spambloom/signature/work"
)

// A letter for each part takes as much memory as the letters: 50,000 parts of one took 24 MB.
func TestManyParts(t *testing.T) {
	const most = 4096
	var texts visible.Texts
	texts.Begin(nil, 0, nil)
	for range most + 1000 {
		texts.Add(mail.Leaf{}, []byte("x"))
	}
	if n := len(texts.Parts); n != most+1 || texts.Limits != work.LimitParts {
		t.Fatalf("%d parts, want %d; limits %v", n, most+1, texts.Limits.Names())
	}
	rest := &texts.Parts[most]
	if got := string(texts.Show(rest).All.Text); got != strings.TrimSpace(strings.Repeat("x\n", 1000)) || texts.CarriageOf(rest) != mail.LaterPart {
		t.Errorf("the rest is %d bytes, carried as %d", len(got), texts.CarriageOf(rest))
	}
	texts.Add(mail.Leaf{}, []byte(strings.Repeat("y", 2<<20)))
	texts.Add(mail.Leaf{}, []byte("z"))
	if n := len(texts.Show(rest).All.Text); n != 1<<20-most {
		t.Errorf("the rest is %d bytes", n)
	}
}
