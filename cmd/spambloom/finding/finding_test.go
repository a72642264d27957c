package finding

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// An answer of Redis in a finding neither acts on the terminal nor looks like a finding of its
// own.
func TestHostileText(t *testing.T) {
	hostile := "ERR \x1b[H\x1b[2J\nOK       redis   answers"
	var out bytes.Buffer
	streams := verb.Streams{Out: &out}
	if err := Print(streams, []Finding{Bad("redis", "see "+hostile, "redis: %s", hostile)}, false); err == nil {
		t.Error("a warning is no error")
	}
	want := `WARNING  redis   redis: ERR ?[H?[2J
                 OK       redis   answers
              -> see ERR ?[H?[2J
                 OK       redis   answers
`
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
	out.Reset()
	if err := Print(streams, []Finding{Good("redis", "%s", hostile)}, true); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), "\x1b") || !strings.Contains(out.String(), `\u001b[2J`) {
		t.Errorf("JSON %q", out.String())
	}
}
