package main

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/manual"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/state"
	"github.com/spambloom/spambloom/cmd/testenv"
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

// A damaged key ends the start with an exit code that its row in state.md names. Only one wrong byte is repaired.
func TestDamagedKeysOfDocuments(t *testing.T) {
	page, err := os.ReadFile("../../contrib/state.md")
	testenv.Check(t, err)
	_, row, _ := strings.Cut(string(page), "`federation.key`")
	row, _, _ = strings.Cut(row, "\n")
	root, log := ramRoot(t), slog.New(slog.DiscardHandler)
	good, work := damagedSettings(filepath.Join(root, "good")), damagedSettings(filepath.Join(root, "work"))
	st, err := state.Open(good, log)
	testenv.Check(t, err)
	testenv.Check(t, st.Close())
	for _, name := range []string{"federation.key", "site.key"} {
		for kind, c := range map[string]struct {
			code  int
			spoil func(path string, key []byte) error
		}{
			"empty":    {exit.Config, func(path string, _ []byte) error { return os.Truncate(path, 0) }},
			"half":     {exit.Config, func(path string, key []byte) error { return os.Truncate(path, int64(len(key)/2)) }},
			"a folder": {exit.Config, func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }},
			"one byte": {exit.IOErr, func(path string, key []byte) error {
				key[len(key)/2] = '!'
				return os.WriteFile(path, key, 0o600)
			}},
		} {
			copyTree(t, good.Data, work.Data)
			path := filepath.Join(work.Data, name)
			key, err := os.ReadFile(path)
			testenv.Check(t, errors.Join(err, c.spoil(path, key)))
			if _, err := state.Open(work, log); exitCode(err) != c.code || !strings.Contains(row, strconv.Itoa(c.code)) {
				t.Errorf("%s, %s: %v (%d); state.md: %s", name, kind, err, exitCode(err), row)
			}
			if err := state.Repair(work, log, io.Discard); (err == nil) != (c.code == exit.IOErr) {
				t.Errorf("%s, %s: repair: %v", name, kind, err)
			}
		}
	}
}
