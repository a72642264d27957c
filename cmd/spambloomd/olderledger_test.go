package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/state"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// An older intact copy of the ledger lacks who reported what since it was made. It is refused, and
// used after a repair, which leaves a mark. What was said since then, in the filters, stays said.
func TestOlderLedger(t *testing.T) {
	s := damagedSettings(t.TempDir())
	damagedLife(t, s)
	log := slog.New(slog.DiscardHandler)
	path := filepath.Join(s.Data, "reports.db")
	st, err := state.Open(s, log)
	testenv.Check(t, err)
	d := desk.New(st.DB, st.Reports, s.DeskOptions(log))
	say(t, d.Report, letterSet(t, "turned"))
	older, err := os.ReadFile(path)
	testenv.Check(t, err)
	say(t, d.Revoke, letterSet(t, "turned"))
	say(t, d.Report, letterSet(t, "newer"))
	say(t, d.Revoke, letterSet(t, "known"))
	say(t, d.Report, letterSet(t, "innocent"))
	testenv.Check(t, st.Close())
	testenv.Check(t, os.WriteFile(path, older, 0o600))
	for range 2 {
		if st, err := state.Open(s, log); err == nil {
			st.Close()
			t.Fatal("it starts")
		} else if !strings.Contains(err.Error(), "older copy") || !strings.Contains(err.Error(), path) || !strings.Contains(hint(err), "--repair") {
			t.Errorf("%v, hint %q", err, hint(err))
		}
	}
	for i := range 3 { // the later repairs have nothing to do
		var out bytes.Buffer
		if err := state.Repair(s, log, &out); err != nil || strings.Contains(out.String(), "older copy") != (i == 0) {
			t.Fatalf("repair %d: %v\n%s", i, err, &out)
		}
	}
	st, err = state.Open(s, log)
	testenv.Check(t, err)
	testenv.Check(t, st.Relist(log, func() {}))
	if got := st.DB.DamagedFiles(); len(got) != 1 || got[0].Name != "reports.db.damaged" {
		t.Errorf("damaged: %v", got)
	}
	for name, listed := range map[string]bool{"newer": true, "known": false, "innocent": true, "fresh": true, "turned": false} {
		if st.DB.Judge(letterSet(t, name)).Listed != listed {
			t.Errorf("%s: listed %v", name, !listed)
		}
	}
	testenv.Check(t, st.Close())
}

// The state as of any moment, as after kill -9, is no older copy: the ledger is never behind the
// identity.
func TestKilledLedgerIsNotOlder(t *testing.T) {
	s := damagedSettings(t.TempDir())
	log := slog.New(slog.DiscardHandler)
	moments := 0
	killed := func(when string) {
		t.Helper()
		moments++
		work := fmt.Sprintf("%s.%d", s.Data, moments)
		copyTree(t, s.Data, work)
		st, err := state.Open(damagedSettings(work), log)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		testenv.Check(t, st.Close())
	}
	for life := range 2 {
		st, err := state.Open(s, log)
		testenv.Check(t, err)
		killed("start")
		d := desk.New(st.DB, st.Reports, s.DeskOptions(log))
		for i := range 3 {
			say(t, d.Report, letterSet(t, fmt.Sprintf("%c%c", 'a'+life, 'a'+i)))
			killed("report")
			testenv.Check(t, st.DB.Mute("mx2", i%2 == 0)) // writes the identity
			killed("identity")
		}
		testenv.Check(t, st.Reports.Close())
		killed("the ledger is closed")
		testenv.Check(t, st.DB.Close())
		killed("end")
	}
}

// All files but the ledger are an older copy, from before a report and a revocation: the start lists
// them again. A start after a crash has nothing to list, also where the crash came between the ledger
// and the filters.
func TestOlderFilesBesideTheLedger(t *testing.T) {
	s := damagedSettings(t.TempDir())
	damagedLife(t, s)
	older := s.Data + ".older"
	copyTree(t, s.Data, older)
	log := new(bytes.Buffer)
	open := func(data string, isOlder bool) *state.State {
		t.Helper()
		log.Reset()
		logger := slog.New(slog.NewTextHandler(log, nil))
		st, err := state.Open(damagedSettings(data), logger)
		testenv.Check(t, err)
		testenv.Check(t, st.Relist(logger, func() {}))
		if got := strings.Contains(log.String(), "older copy"); got != isOlder {
			t.Errorf("%s: older %v: %s", data, got, log)
		}
		return st
	}
	st := open(s.Data, false)
	d := desk.New(st.DB, st.Reports, s.DeskOptions(slog.New(slog.DiscardHandler)))
	say(t, d.Report, letterSet(t, "newer"))
	say(t, d.Revoke, letterSet(t, "known"))
	copyTree(t, s.Data, s.Data+".killed")
	testenv.Check(t, st.Close())
	killed := open(s.Data+".killed", false)
	_, err := killed.Reports.Enter(ledger.Entry{Stance: ledger.Spam, Reporter: "carol", Set: signature.Set{Signatures: letterSet(t, "due").Signatures}, At: time.Now()})
	testenv.Check(t, err)
	copyTree(t, s.Data+".killed", s.Data+".due")
	testenv.Check(t, killed.Close())
	testenv.Check(t, open(s.Data+".due", false).Close())

	reports, err := os.ReadFile(filepath.Join(s.Data, "reports.db"))
	testenv.Check(t, err)
	testenv.Check(t, os.WriteFile(filepath.Join(older, "reports.db"), reports, 0o600))
	for i := range 2 { // the second start has nothing to do
		st = open(older, i == 0)
		for name, listed := range map[string]bool{"newer": true, "known": false, "innocent": false, "fresh": true} {
			if st.DB.Judge(letterSet(t, name)).Listed != listed {
				t.Errorf("%s: listed %v", name, !listed)
			}
		}
		testenv.Check(t, st.Close())
	}
}
