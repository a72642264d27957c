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
	var out, notes bytes.Buffer
	streams := verb.Streams{Out: &out, Err: &notes}
	if err := Print(streams, []Finding{Bad("redis", "see "+hostile, "redis: %s", hostile)}, false); err != nil {
		t.Error(err)
	}
	if want := "spambloom: warning: 1 of 1 checks warn; see above\n"; notes.String() != want {
		t.Errorf("noted %q, want %q", notes.String(), want)
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

// A warning is no failure of setup, unless mail is not judged. Doctor counts every one.
func TestExitCodes(t *testing.T) {
	good, skipped := Good("redis", "answers"), Skip("disk", "unknown")
	warning, fault := Bad("clock", "chrony", "unsynchronised"), Fault("milter", "setup", "not asked")
	for _, c := range []struct {
		findings      []Finding
		doctor, setUp int
	}{
		{[]Finding{good, skipped}, 0, 0}, {[]Finding{good, warning}, 1, 0}, {[]Finding{warning, fault, good}, 1, 1},
	} {
		if inDoctor, inSetup := verb.Code(Warned(c.findings)), verb.Code(Failed(c.findings)); inDoctor != c.doctor || inSetup != c.setUp {
			t.Errorf("%+v: doctor %d, setup %d", c.findings, inDoctor, inSetup)
		}
	}
}
