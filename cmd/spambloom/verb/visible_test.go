package verb

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTerminalSequences is the attack "terminal": a queue id, a domain or a file's name with
// control sequences. None of them reaches the terminal, in any form of output.
func TestTerminalSequences(t *testing.T) {
	for text, want := range map[string]string{
		"queue id Q\x1b]0;pwned\aX\tspam\n":       "queue id Q?]0;pwned?X\tspam\n",
		"\x1b[1mbold\x1b[0m \x1b[2J\x1b[1;31mred": "\x1b[1mbold\x1b[0m ?[2J?[1;31mred",
		"\x1b[H\x1b[2Ja\rb":                       "?[H?[2Ja?b",
		"caf\u00e9 caf\xe9 \x9b2J \u009b2J":       "caf\u00e9 caf\xe9 ?2J ?2J",
		"evil\u202emoc.elpmaxe":                   "evil?moc.elpmaxe",
	} {
		var out, errs bytes.Buffer
		c := &CLI{}
		c.Out, c.Err = &out, &errs
		if err := c.Print(text); err != nil {
			t.Fatal(err)
		}
		c.Notify("error", text)
		if out.String() != want || errs.String() != "spambloom: error: "+strings.ReplaceAll(want, "\n", "\n  ")+"\n" {
			t.Errorf("printed %q and %q, want %q", out.String(), errs.String(), want)
		}
		out.Reset()
		if err := c.PrintJSON([]string{text}); err != nil {
			t.Fatal(err)
		}
		var read []string
		if err := json.Unmarshal(out.Bytes(), &read); err != nil || read[0] != strings.ToValidUTF8(text, "\ufffd") {
			t.Errorf("JSON %q: %q, %v", out.String(), read, err)
		}
		if strings.ContainsAny(out.String(), "\x1b\a\r\u009b\u202e") || !utf8.Valid(out.Bytes()) {
			t.Errorf("JSON %q", out.String())
		}
	}
}

// TestMessageNames is the attack "file name": a line end in the name of a file forges no line, in
// results and in errors, and it has no colour. In JSON the name is exact.
func TestMessageNames(t *testing.T) {
	name := MessageName("x\nbank.eml: clean\t\r\u2028\x1b[2J\x1b[31m")
	const want = "x?bank.eml: clean????[2J?[31m"
	if got := name.String(); got != want {
		t.Errorf("%q", got)
	}
	if got := (&InputError{errors.New(string(name))}).Error(); got != want {
		t.Errorf("error %q", got)
	}
	var read MessageName
	if raw, err := json.Marshal(name); err != nil || json.Unmarshal(raw, &read) != nil || read != name {
		t.Errorf("JSON %s, %v", raw, err)
	}
}
