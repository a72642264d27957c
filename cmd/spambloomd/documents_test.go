package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/manual"
)

// Each call of the daemon in a document has flags that exist.
func TestCommandsOfDocuments(t *testing.T) {
	calls, err := manual.Commands(os.DirFS("../.."), "spambloomd")
	if err != nil || len(calls) < 10 {
		t.Fatalf("%d commands, %v", len(calls), err)
	}
	for _, call := range calls {
		cmd := command(io.Discard, io.Discard)
		cmd.InitDefaultVersionFlag()
		err := cmd.ParseFlags(call.Args)
		if err == nil && call.IsWhole {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil && (call.IsWhole || !strings.Contains(err.Error(), "flag needs an argument")) {
			t.Errorf("%s: spambloomd %s: %v", call.Page, strings.Join(call.Args, " "), err)
		}
	}
}
