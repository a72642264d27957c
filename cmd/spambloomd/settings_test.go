package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
)

// A file that was read at the start but is missing at a SIGHUP, for example while an editor
// rewrites it, must not disable all policies and rules.
func TestUsualFileAwayAtReload(t *testing.T) {
	dir := t.TempDir()
	usual := filepath.Join(dir, "spambloom.toml")
	unchanged := func(string) bool { return false }
	s, err := makeSettings(flags{data: dir}, unchanged, false, usual)
	if err != nil || s.file != "" {
		t.Fatalf("without a file: %q, %v", s.file, err)
	}
	harness.Write(t, usual, "[actions]\nspam = \"reject\"\n")
	for range 2 { // the file is created before the first
		if s, err = s.reload(); err != nil || s.file != usual || s.Actions.Spam != "reject" {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	if err := os.Remove(usual); err != nil {
		t.Fatal(err)
	}
	if s, err := s.reload(); err == nil || !strings.Contains(err.Error(), usual) {
		t.Errorf("reloaded with %+v, %v", s, err)
	}
}
