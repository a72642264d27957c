package main

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/manual"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// Each call of the command in a document has a verb and flags that exist, and in a block of
// commands a number of arguments that the verb takes. FORMAT.md names magic words of files, and
// the list of changes commands that are gone.
func TestCommandsOfDocuments(t *testing.T) {
	calls, err := manual.Commands(os.DirFS("../.."), "spambloom")
	if err != nil || len(calls) < 200 {
		t.Fatalf("%d commands, %v", len(calls), err)
	}
	whole := 0
	for _, call := range calls {
		if name := path.Base(call.Page); name == "CHANGELOG.md" || name == "FORMAT.md" || name == "API.md" && !call.IsWhole {
			continue
		}
		root := commands(&verb.CLI{})
		root.InitDefaultCompletionCmd(call.Args...)
		cmd, rest, err := root.Find(call.Args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil && call.IsWhole {
			whole++
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil && (call.IsWhole || !strings.HasPrefix(err.Error(), "flag needs an argument")) {
			t.Errorf("%s: spambloom %s: %v", call.Page, strings.Join(call.Args, " "), err)
		}
	}
	if whole < 40 {
		t.Errorf("only %d commands in blocks", whole)
	}
}
