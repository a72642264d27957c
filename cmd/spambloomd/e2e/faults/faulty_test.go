package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
)

// panicWord is the word in mail at whose picture the signature of a faulty daemon panics.
const panicWord = "saxophone"

// edits are the changes of a source file. Each text occurs once; $ stands for it in what
// replaces it.
type edits struct {
	replace [][2]string
	add     string // at the end
}

// faulty are the changes of a daemon's sources by file.
var faulty = map[string]edits{
	// The panic is in the middle of signing, when a picture is unpacked. Its message quotes the
	// text, like those of many libraries. A change in package signature would have most packages
	// of the daemon compiled again.
	"milter/judge.go": {
		[][2]string{
			{"import (\n", "import (\n\t\"strings\"\n"},
			{"s.sign(content, msg.stage.Unpack, ", "s.sign(content, panicking(content, msg.stage.Unpack), "},
		},
		fmt.Sprintf(`
func panicking(m signature.Message, unpack signature.Unpacking) signature.Unpacking {
	if !strings.Contains(string(m.Body), %q) {
		return unpack
	}
	return func() (<-chan struct{}, func()) { panic("cannot sign " + string(m.Body)) }
}
`, panicWord),
	},
	"reporting/desk/desk.go": {
		[][2]string{
			{"import (\n", "import (\n\t\"os\"\n\t\"syscall\"\n"},
			{"\tif decision, err = d.ledger.Enter(entry); err != nil {", "\tkillAt(\"admitted\")\n$"},
			{"\tdecided, again := \"\", false", "\tkillAt(\"entered\")\n$"},
			{"\tif decided != \"\" && !again && err == nil {\n", "\tkillAt(\"shown\")\n$"},
			{"\t\td.ledger.Settle(decision)\n", "$\t\tkillAt(\"settled\")\n"},
		},
		`
func killAt(step string) {
	if at, err := os.ReadFile(os.Getenv("KILL_AT")); err == nil && string(at) == step {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
`,
	},
}

// faultyDaemon builds a daemon whose signature of pictures panics at panicWord, which kills itself
// with signal 9 after the step of a report that the file in KILL_AT names, and whose clock is
// moved by the file in SPAMBLOOM_CLOCK.
func faultyDaemon(t *testing.T) string {
	t.Helper()
	changed := map[string]string{}
	for file, e := range faulty {
		source, err := os.ReadFile(filepath.Join(harness.Repository, file))
		if err != nil {
			t.Fatal(err)
		}
		text := string(source)
		for _, edit := range e.replace {
			if n := strings.Count(text, edit[0]); n != 1 {
				t.Fatalf("%s has %q %d times, want once", file, edit[0], n)
			}
			text = strings.Replace(text, edit[0], strings.Replace(edit[1], "$", edit[0], 1), 1)
		}
		changed[file] = text + e.add
	}
	return harness.FaultyProgram(t, "movedclock", changed, "spambloomd")
}
