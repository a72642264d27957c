package state

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/signature"
)

// letter returns the signatures of letter i.
func letter(i int) signature.Set {
	words := make([]string, 80)
	for w := range words {
		words[w] = fmt.Sprintf("%c%cword%c", 'a'+i, 'a'+w%26, 'a'+w/26)
	}
	return signature.Compute(signature.Parse([]byte("From: a@example.net\r\nSubject: x\r\n\r\n" + strings.Join(words, " ") + "\r\n")))
}

// The first start with a new federation key lists the ledger's reports under it, and says how
// many: a revocation counts with the report that it revokes. Without the previous key, they are
// still listed.
func TestReportsOfTheLedgerUnderNewKey(t *testing.T) {
	dir := filepath.Join(testenv.Dir(t), "state")
	s := settingsFor(t, dir, "")
	log := new(bytes.Buffer)
	logger := slog.New(slog.NewTextHandler(log, nil))
	set := letter
	st, err := Open(s, logger)
	testenv.Check(t, err)
	d := desk.New(st.DB, st.Reports, s.DeskOptions(logger))
	for i := range 3 {
		_, err := d.Report(desk.Report{Set: set(i), Reporter: "anna", Trusted: true})
		testenv.Check(t, err)
	}
	_, err = d.Revoke(desk.Report{Set: set(0), Reporter: "bob", Trusted: true})
	testenv.Check(t, err)
	testenv.Check(t, st.Close())

	key, err := keyring.New()
	testenv.Check(t, err)
	fresh := filepath.Join(testenv.Dir(t), "fresh.key")
	testenv.Check(t, keyring.WriteKey(fresh, key))
	s.KeyFile, s.PreviousKeyFile = fresh, s.KeyFile
	for range 2 { // the second start has nothing to do
		log.Reset()
		st, err = Open(s, logger)
		testenv.Check(t, err)
		told := 0
		testenv.Check(t, st.Relist(logger, func() { told++ }))
		testenv.Check(t, st.Close())
		if strings.Contains(log.String(), "reports=2 revocations=2") != (told > 0) {
			t.Errorf("told %d times: %s", told, log)
		}
	}
	s.PreviousKeyFile = ""
	st, err = Open(s, logger)
	testenv.Check(t, err)
	defer st.Close()
	for i := range 3 {
		if listed := st.DB.Judge(set(i)).Listed; listed != (i > 0) {
			t.Errorf("message %d: listed %v", i, listed)
		}
	}
}

// All files but the ledger are an older copy, from before the key was changed: what was reported again since
// then is listed, also if the daemon is killed after the start, and after the former key is removed.
func TestOlderCopyFromBeforeNewKey(t *testing.T) {
	dir := filepath.Join(testenv.Dir(t), "state")
	s := settingsFor(t, dir, "")
	logger := slog.New(slog.DiscardHandler)
	set := letter(0)
	say := func(say ...func(*desk.Desk) func(desk.Report) (desk.Outcome, error)) {
		st, err := Open(s, logger)
		testenv.Check(t, err)
		testenv.Check(t, st.Relist(logger, func() {}))
		d := desk.New(st.DB, st.Reports, s.DeskOptions(logger))
		for _, f := range say {
			_, err := f(d)(desk.Report{Set: set, Reporter: "anna", Trusted: true})
			testenv.Check(t, err)
		}
		testenv.Check(t, st.Close())
	}
	report := func(d *desk.Desk) func(desk.Report) (desk.Outcome, error) { return d.Report }
	revoke := func(d *desk.Desk) func(desk.Report) (desk.Outcome, error) { return d.Revoke }
	say(report, revoke)
	older := filepath.Join(testenv.Dir(t), "older")
	testenv.Check(t, os.CopyFS(older, os.DirFS(dir)))
	key, err := keyring.New()
	testenv.Check(t, err)
	fresh := filepath.Join(testenv.Dir(t), "fresh.key")
	testenv.Check(t, keyring.WriteKey(fresh, key))
	s.KeyFile, s.PreviousKeyFile = fresh, s.KeyFile
	say(report)
	reports, err := os.ReadFile(filepath.Join(dir, "reports.db"))
	testenv.Check(t, err)
	testenv.Check(t, os.WriteFile(filepath.Join(older, "reports.db"), reports, 0o600))

	s.Data = older
	for _, when := range []string{"first start", "after kill -9", "later"} {
		st, err := Open(s, logger)
		testenv.Check(t, err)
		testenv.Check(t, st.Relist(logger, func() {}))
		if !st.DB.Judge(set).Listed {
			t.Errorf("%s: not listed", when)
		}
		killed := filepath.Join(testenv.Dir(t), "killed")
		testenv.Check(t, os.CopyFS(killed, os.DirFS(s.Data)))
		testenv.Check(t, st.Close())
		s.Data = killed
	}
	s.PreviousKeyFile = ""
	st, err := Open(s, logger)
	testenv.Check(t, err)
	defer st.Close()
	if !st.DB.Judge(set).Listed {
		t.Error("under the new key only: not listed")
	}
}

// All files but the ledger are a copy that is weeks old, the last time among them. The reports of the ledger show that
// this time has passed, so they are listed where they belong, and the clock is believed.
func TestOlderCopyByWeeks(t *testing.T) {
	dir := filepath.Join(testenv.Dir(t), "state")
	s := settingsFor(t, dir, "")
	logger := slog.New(slog.DiscardHandler)
	options, err := openKeys(s, logger)
	testenv.Check(t, err)
	begun := time.Now()
	options.Now, options.Elapsed = func() time.Time { return time.Now().AddDate(0, 0, -20) }, func() time.Duration { return time.Since(begun) }
	db, err := bloomdb.Open(options)
	testenv.Check(t, err)
	empty, err := openLedger(s, logger)
	testenv.Check(t, err)
	testenv.Check(t, errors.Join(db.AddCompanion(s.LedgerOptions(logger).Path, empty.LastReport, nil), db.Relisted(), empty.Close(), db.Close()))
	older := filepath.Join(testenv.Dir(t), "older")
	testenv.Check(t, os.CopyFS(older, os.DirFS(dir)))

	testenv.Check(t, os.Remove(filepath.Join(dir, "clock")))
	st, err := Open(s, logger)
	testenv.Check(t, err)
	_, err = desk.New(st.DB, st.Reports, s.DeskOptions(logger)).Report(desk.Report{Set: letter(0), Reporter: "anna", Trusted: true})
	testenv.Check(t, err)
	want := st.DB.Judge(letter(0)).Matches[0].Generation
	testenv.Check(t, st.Close())
	reports, err := os.ReadFile(filepath.Join(dir, "reports.db"))
	testenv.Check(t, err)
	testenv.Check(t, os.WriteFile(filepath.Join(older, "reports.db"), reports, 0o600))

	s.Data = older
	st, err = Open(s, logger)
	testenv.Check(t, err)
	defer st.Close()
	testenv.Check(t, st.Relist(logger, func() {}))
	if m := st.DB.Judge(letter(0)).Matches; len(m) == 0 || m[0].Generation != want || st.DB.Clock() != nil {
		t.Errorf("matches %+v, want generation %d; clock %+v", m, want, st.DB.Clock())
	}
}
