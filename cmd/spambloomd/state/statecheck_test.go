package state

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// -t refuses a state folder that the start would refuse, and changes nothing in it.
func TestStateIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		spoil  func(t *testing.T, dir string)
		want   string // "": valid
	}{
		"as it was":        {"", func(*testing.T, string) {}, ""},
		"other capacity":   {"[reports]\ncapacity = 200_000", func(*testing.T, string) {}, ""},
		"other site":       {"[site]\nname = \"mx2\"", func(*testing.T, string) {}, `it belongs to site "mx1", the configured name is "mx2"`},
		"other period":     {"[reports]\nperiod = \"24h\"", func(*testing.T, string) {}, "the report period was 604800 s"},
		"lost key":         {"", func(t *testing.T, dir string) { remove(t, dir, "federation.key") }, "the federation key of the state folder is missing"},
		"readable key":     {"", func(t *testing.T, dir string) { chmod(t, dir, "site.key", 0o644) }, "mode is 0644"},
		"damaged key":      {"", spoilKey, "one byte differs"},
		"damaged identity": {"", func(t *testing.T, dir string) { harness.Write(t, filepath.Join(dir, "identity"), "{}\n") }, "identity"},
		"newer file": {"", func(t *testing.T, dir string) {
			harness.Write(t, filepath.Join(dir, "identity"), "{\"version\":9}\ncrc32c 00000000\n")
		}, "identity"},
		"unfinished restore": {"", func(t *testing.T, dir string) {
			testenv.Check(t, os.Mkdir(filepath.Join(dir, "restoring"), 0o700))
		}, "restore"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			s := settingsFor(t, dir, "")
			fillState(t, s)
			c.spoil(t, dir)
			before := listing(t, dir)
			err := Check(settingsFor(t, dir, c.config))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if after := listing(t, dir); after != before {
				t.Errorf("the check changed the folder:\n%s\n%s", before, after)
			}
		})
	}
}

// A folder that does not exist yet must be possible to make.
func TestMissingStateIsChecked(t *testing.T) {
	dir := t.TempDir()
	if err := Check(settingsFor(t, filepath.Join(dir, "new", "state"), "")); err != nil {
		t.Error(err)
	}
	file := harness.Write(t, filepath.Join(dir, "file"), "")
	if err := Check(settingsFor(t, file, "")); err == nil || !strings.Contains(err.Error(), "is no folder") {
		t.Error(err)
	}
	if err := Check(settingsFor(t, filepath.Join(file, "state"), "")); err == nil {
		t.Error("a state folder below a file is accepted")
	}
}

func settingsFor(t *testing.T, dir, changes string) *settings.Settings {
	t.Helper()
	text := "[site]\nname = \"mx1\"\n[reports]\ncapacity = 100_000\n[bulk]\ncapacity = 10_000\n"
	path := harness.Write(t, filepath.Join(t.TempDir(), "f.toml"), harness.Overlay(text, changes))
	s, err := settings.New(settings.Flags{Config: path, Data: dir}, func(string) bool { return false })
	testenv.Check(t, err)
	return s
}

// fillState makes the keys and the files of a state folder.
func fillState(t *testing.T, s *settings.Settings) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	options, err := openKeys(s, log)
	testenv.Check(t, err)
	db, err := bloomdb.Open(options)
	testenv.Check(t, err)
	testenv.Check(t, db.Close())
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	testenv.Check(t, os.Remove(filepath.Join(dir, name)))
}

func chmod(t *testing.T, dir, name string, mode os.FileMode) {
	t.Helper()
	testenv.Check(t, os.Chmod(filepath.Join(dir, name), mode))
}

// spoilKey changes one digit of the federation key.
func spoilKey(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "federation.key")
	key, err := keyring.ReadKey(path)
	key[3] ^= 1
	testenv.Check(t, errors.Join(err, os.Remove(path), keyring.WriteKey(path, key)))
}

// listing returns the names, sizes and times of a folder's files.
func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testenv.Check(t, err)
	var b strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			fmt.Fprintln(&b, e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}
