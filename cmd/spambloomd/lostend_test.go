package main

import (
	"encoding/binary"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/spambloomd/state"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/desk"
)

// The journal has lost its end, with words that were acknowledged: the ledger has them. A start says them
// again, and so does a repair, also if the identity was written after them, as with an exchange.
func TestLostEndOfJournal(t *testing.T) {
	s, log := damagedSettings(t.TempDir()), slog.New(slog.DiscardHandler)
	damagedLife(t, s)
	st, err := state.Open(s, log)
	testenv.Check(t, err)
	testenv.Check(t, st.Relist(log, func() {}))
	paths, err := filepath.Glob(filepath.Join(s.Data, "journal-*"))
	testenv.Check(t, err)
	last := filepath.Base(slices.Max(paths))
	before, err := os.ReadFile(slices.Max(paths))
	testenv.Check(t, err)
	d := desk.New(st.DB, st.Reports, s.DeskOptions(log))
	say(t, d.Revoke, letterSet(t, "known"))
	say(t, d.Report, letterSet(t, "newer"))
	testenv.Check(t, st.DB.Mute("mx2", true)) // writes the identity
	killed := s.Data + ".killed"
	copyTree(t, s.Data, killed)
	testenv.Check(t, st.Close())
	whole, err := os.ReadFile(filepath.Join(killed, last))
	testenv.Check(t, err)

	flipped := slices.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	for name, left := range map[string][]byte{
		"cut between records": before,
		"cut in a record":     whole[:len(before)+3],
		"zeros":               append(slices.Clone(before), make([]byte, len(whole)-len(before))...),
		"flipped last bit":    flipped,
		"whole":               whole,
	} {
		t.Run(name, func(t *testing.T) {
			s := damagedSettings(filepath.Join(t.TempDir(), "data"))
			copyTree(t, killed, s.Data)
			testenv.Check(t, os.WriteFile(filepath.Join(s.Data, last), left, 0o600))
			repaired := damagedSettings(s.Data + ".repaired")
			copyTree(t, s.Data, repaired.Data)
			testenv.Check(t, state.Repair(repaired, log, io.Discard))
			for range 2 {
				hasLastWords(t, s, log)
				hasLastWords(t, repaired, log)
			}
		})
	}
}

// hasLastWords starts, and looks for the words of TestLostEndOfJournal.
func hasLastWords(t *testing.T, s *settings.Settings, log *slog.Logger) {
	t.Helper()
	st, err := state.Open(s, log)
	testenv.Check(t, err)
	testenv.Check(t, st.Relist(log, func() {}))
	for name, listed := range map[string]bool{"newer": true, "known": false, "innocent": false, "fresh": true} {
		if st.DB.Judge(letterSet(t, name)).Listed != listed {
			t.Errorf("%s: listed %v", name, !listed)
		}
	}
	testenv.Check(t, st.Close())
}

// The ledger has lost its last word with a header, and the filters have it: neither a start nor a repair overturns it.
func TestLostHeaderOfLedger(t *testing.T) {
	s, log := damagedSettings(t.TempDir()), slog.New(slog.DiscardHandler)
	st, err := state.Open(s, log)
	testenv.Check(t, err)
	testenv.Check(t, st.Relist(log, func() {}))
	d := desk.New(st.DB, st.Reports, s.DeskOptions(log))
	say(t, d.Report, letterSet(t, "turned"))
	say(t, d.Report, letterSet(t, "newer"))
	say(t, d.Revoke, letterSet(t, "turned"))
	killed := s.Data + ".killed"
	copyTree(t, s.Data, killed)
	testenv.Check(t, st.Close())
	loseHeader(t, filepath.Join(killed, "reports.db"))
	for _, repair := range []bool{false, true} {
		s := damagedSettings(filepath.Join(t.TempDir(), "data"))
		copyTree(t, killed, s.Data)
		if repair {
			testenv.Check(t, state.Repair(s, log, io.Discard))
		}
		for range 2 {
			st, err := state.Open(s, log)
			testenv.Check(t, err)
			testenv.Check(t, st.Relist(log, func() {}))
			if st.DB.Judge(letterSet(t, "turned")).Listed {
				t.Errorf("repair %v: the revoked message is listed", repair)
			}
			testenv.Check(t, st.Close())
		}
	}
}

// loseHeader damages the newer one of the two headers of a ledger.
func loseHeader(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	testenv.Check(t, err)
	page := os.Getpagesize()
	header := func(i int) []byte { return data[i*page+16:] }
	newer := header(0)
	if txid := func(h []byte) uint64 { return binary.NativeEndian.Uint64(h[48:]) }; txid(header(1)) > txid(newer) {
		newer = header(1)
	}
	newer[20] ^= 1
	testenv.Check(t, os.WriteFile(path, data, 0o600))
}
