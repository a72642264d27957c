package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/spambloomd/state"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// newerIdentity replaces the identity by that of a newer version.
func newerIdentity(t *testing.T, s *settings.Settings) (path string, newer []byte) {
	t.Helper()
	path = filepath.Join(s.Data, "identity")
	data, err := os.ReadFile(path)
	testenv.Check(t, err)
	line, _, _ := bytes.Cut(data, []byte("\n"))
	line = bytes.Replace(line, []byte(`"version":1`), []byte(`"version":2`), 1)
	newer = fmt.Appendf(nil, "%s\ncrc32c %08x\n", line, crc32.Checksum(line, crc32.MakeTable(crc32.Castagnoli)))
	testenv.Check(t, os.WriteFile(path, newer, 0o600))
	return path, newer
}

// A file of a newer version prevents the start with a hint that does not suggest a repair.
// A repair rejects it and does not change it.
func TestNewerFileIsNoDamage(t *testing.T) {
	s := damagedSettings(t.TempDir())
	damagedLife(t, s)
	log := slog.New(slog.DiscardHandler)
	path, newer := newerIdentity(t, s)
	_, err := state.Open(s, log)
	for what, err := range map[string]error{"start": err, "repair": state.Repair(s, log, io.Discard)} {
		if exitCode(err) != exit.IOErr || !errors.Is(err, bloomdb.ErrNewer) || !strings.Contains(err.Error(), path) ||
			!strings.Contains(hint(err), "newer version of spambloom") {
			t.Errorf("%s: exit %d, hint %q: %v", what, exitCode(err), hint(err), err)
		}
	}
	if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, newer) {
		t.Errorf("the file changed: %v", err)
	}
}

// A newer reports.db prevents the start and a repair before they change anything in the folder. A newer
// file of the filters prevents a repair of keys and ledger, too.
func TestNewerFileChangesNothing(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for name, age := range map[string]func(s *settings.Settings){
		"ledger": func(s *settings.Settings) {
			path := s.LedgerOptions(log).Path
			data, err := os.ReadFile(path)
			testenv.Check(t, err)
			harness.Write(t, path, strings.ReplaceAll(string(data), "version\x01\xfe", "version\x02\xfd"))
		},
		"filters": func(s *settings.Settings) {
			newerIdentity(t, s)
			harness.Write(t, s.LedgerOptions(log).Path, "damaged")
		},
	} {
		s := damagedSettings(t.TempDir())
		damagedLife(t, s)
		age(s)
		key, err := os.ReadFile(s.SigningKeyFile)
		testenv.Check(t, err)
		key[3] = 0 // a repair corrects one byte
		testenv.Check(t, os.WriteFile(s.SigningKeyFile, key, 0o600))
		before := os.DirFS(s.Data)
		sums := func() (all string) {
			testenv.Check(t, fs.WalkDir(before, ".", func(path string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					var data []byte
					data, err = fs.ReadFile(before, path)
					all += fmt.Sprintf("%s %08x\n", path, crc32.ChecksumIEEE(data))
				}
				return err
			}))
			return all
		}
		was := sums()
		_, openErr := state.Open(s, log)
		for what, err := range map[string]error{"start": openErr, "repair": state.Repair(s, log, io.Discard), "test": state.Check(s)} {
			if exitCode(err) != exit.IOErr || !strings.Contains(err.Error(), "newer format (version 2; this program reads 1)") {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if now := sums(); now != was {
			t.Errorf("%s: the folder was\n%sand is\n%s", name, was, now)
		}
	}
}
