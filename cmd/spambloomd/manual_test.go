package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/manual"
	"github.com/spambloom/spambloom/cmd/testenv"
)

var updateManual = flag.Bool("update", false, "rewrite the man page")

// The page in contrib agrees with the current help.
func TestManual(t *testing.T) {
	pages, err := manual.Pages(command(io.Discard, io.Discard), "8", "spambloom(1)", "spambloom.toml(5)")
	testenv.Check(t, err)
	page := pages[0]
	path := "../../contrib/man/" + page.Name
	if *updateManual {
		testenv.Check(t, os.WriteFile(path, page.Text, 0o644))
	}
	if committed, err := os.ReadFile(path); err != nil || !bytes.Equal(committed, page.Text) {
		t.Errorf("%s differs from the help (%v): run make generate", path, err)
	}
}
