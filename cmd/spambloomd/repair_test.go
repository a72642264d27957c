package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/spambloomd/state"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/server"
	"github.com/spambloom/spambloom/signature"
)

// damagedSettings are the settings of a small daemon with its keys in the state folder.
func damagedSettings(dir string) *settings.Settings {
	s := &settings.Settings{
		Config: config.Default(), Data: dir, Name: "mx1",
		KeyFile: filepath.Join(dir, "federation.key"), SigningKeyFile: filepath.Join(dir, "site.key"),
	}
	s.Reports.Capacity, s.Bulk.Capacity, s.Reports.Quorum = 200, 40, 1
	return s
}

// letterSet returns the signatures of a distinct letter.
func letterSet(t *testing.T, name string) signature.Set {
	t.Helper()
	words := make([]string, 80)
	for i := range words {
		words[i] = name + strings.Repeat(string(rune('a'+i%26)), 1+i/26)
	}
	mail := "From: a@example.net\r\nSubject: " + name + "\r\n\r\n" + strings.Join(words, " ") + "\r\n"
	set := signature.Compute(signature.Parse([]byte(mail)))
	if len(set.Signatures) == 0 {
		t.Fatal(set)
	}
	return set
}

// damagedLife fills a state folder through the desk: "known" is reported, "fresh" is
// reported and only in the journal, "innocent" is reported and revoked.
func damagedLife(t *testing.T, s *settings.Settings) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	for i := range 2 {
		st, err := state.Open(s, log)
		testenv.Check(t, err)
		d := desk.New(st.DB, st.Reports, s.DeskOptions(log))
		if i == 0 {
			say(t, d.Report, letterSet(t, "known"))
			say(t, d.Report, letterSet(t, "innocent"))
			say(t, d.Revoke, letterSet(t, "innocent"))
			testenv.Check(t, st.DB.Count(letterSet(t, "known"), 5))
		} else {
			say(t, d.Report, letterSet(t, "fresh"))
			say(t, d.Report, letterSet(t, "last")) // this shows that the previous report was synced
			awaitListed(t, st.DB, filepath.Join(s.Data, "segments"))
			copyTree(t, s.Data, s.Data+".crashed") // as after a crash
		}
		testenv.Check(t, st.Close())
	}
}

// awaitListed runs the database until the lengths of the journal's segments are on disk: a
// second after the start, and then each minute.
func awaitListed(t *testing.T, db *bloomdb.DB, path string) {
	t.Helper()
	before, err := os.ReadFile(path)
	testenv.Check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	testenv.Eventually(t, "the segments are listed", func() bool {
		now, err := os.ReadFile(path)
		return err == nil && !bytes.Equal(now, before)
	})
	stop()
	testenv.Check(t, testenv.Receive(t, "the end of Run", ended))
}

func say(t *testing.T, do func(desk.Report) (desk.Outcome, error), set signature.Set) {
	t.Helper()
	if _, err := do(desk.Report{Set: set, Reporter: "anna", Trusted: true}); err != nil {
		t.Fatal(err)
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	testenv.Check(t, errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(from))))
	for _, key := range []string{"federation.key", "site.key"} {
		testenv.Check(t, os.Chmod(filepath.Join(to, key), 0o600))
	}
}

// Every file of the state folder, with one byte flipped at each of 200 places in a soak.
// The start either opens the folder, or refuses and --repair mends it. In both cases
// reported mail is spam, and revoked mail is not.
func TestEveryFlippedByteOfTheStateFolder(t *testing.T) {
	testenv.Servers(t)
	root := ramRoot(t)
	s := damagedSettings(filepath.Join(root, "good"))
	damagedLife(t, s)
	good, work := s.Data+".crashed", filepath.Join(root, "work")
	most := 8
	if testenv.Soak() {
		most = 200
	}
	outcomes := map[string]int{}
	names, err := fs.Glob(os.DirFS(good), "*")
	testenv.Check(t, err)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(good, name))
		testenv.Check(t, err)
		size, places := len(bytes.TrimRight(data, "\x00")), most
		if name == "reports.db" {
			places = most / 4 // package ledger tries it at 400 places
		}
		for i := range min(size, places) {
			at := i * max(size-1, 1) / max(min(size, places)-1, 1)
			copyTree(t, good, work)
			bad := bytes.Clone(data)
			bad[at] ^= 1 << (i % 8)
			testenv.Check(t, os.WriteFile(filepath.Join(work, name), bad, 0o600))
			outcomes[damagedStart(t, damagedSettings(work), fmt.Sprintf("%s, byte %d", name, at), name)]++
		}
	}
	t.Logf("%d files: %v", len(names), outcomes)
	for _, want := range []string{"started", "set aside", "repaired"} {
		if outcomes[want] == 0 {
			t.Errorf("no file was %s", want)
		}
	}
}

// ramRoot returns a folder in memory if the machine has one: thousands of folders are
// synced.
func ramRoot(t *testing.T) string {
	root, err := os.MkdirTemp("/dev/shm", "spambloom-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	return root
}

func damagedStart(t *testing.T, s *settings.Settings, what, name string) string {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	st, err := state.Open(s, log)
	outcome := "started"
	if err != nil {
		if exitCode(err) != exit.IOErr || !strings.Contains(hint(err), "--repair") {
			t.Fatalf("%s: exit %d, hint %q: %v", what, exitCode(err), hint(err), err)
		}
		outcome = "repaired"
		var out bytes.Buffer
		if err := state.Repair(s, log, &out); err != nil || !strings.Contains(out.String(), name) {
			t.Fatalf("%s: repair: %v\n%s", what, err, &out)
		}
		if st, err = state.Open(s, log); err != nil {
			t.Fatalf("%s: after the repair: %v\n%s", what, err, &out)
		}
	}
	if len(st.DB.DamagedFiles()) > 0 && outcome == "started" {
		outcome = "set aside"
	}
	for letter, want := range map[string]bool{"known": true, "fresh": true, "innocent": false, "unknown": false} {
		if got := st.DB.Judge(letterSet(t, letter)).Listed; got != want {
			t.Errorf("%s, %s: %q listed %v, want %v", what, outcome, letter, got, want)
		}
	}
	if err := st.Close(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return outcome
}

// Every file of the state folder is missing, empty, cut in half, far too long, replaced by another, or
// unreadable. The start either opens the folder, or refuses and --repair mends it. Only a
// missing key cannot be restored.
func TestEveryFileOfTheStateFolder(t *testing.T) {
	testenv.Servers(t)
	root := ramRoot(t)
	s := damagedSettings(filepath.Join(root, "good"))
	damagedLife(t, s)
	good, work := s.Data+".crashed", filepath.Join(root, "work")
	names, err := fs.Glob(os.DirFS(good), "*")
	testenv.Check(t, err)
	outcomes := map[string]int{}
	for kind, spoil := range map[string]func(path, other string) error{
		"missing": func(path, _ string) error { return os.Remove(path) },
		"empty":   func(path, _ string) error { return os.Truncate(path, 0) },
		"cut in half": func(path, _ string) error {
			info, err := os.Stat(path)
			return errors.Join(err, os.Truncate(path, info.Size()/2))
		},
		"replaced": func(path, other string) error {
			data, err := os.ReadFile(other)
			return errors.Join(err, os.WriteFile(path, data, 0o600))
		},
		"64 GiB long": func(path, _ string) error { return os.Truncate(path, 64<<30) }, // without a byte on disk
		"a folder":    func(path, _ string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"unreadable": func(path, _ string) error { // reading the memory at address 0 is EIO
			return errors.Join(os.Remove(path), os.Symlink("/proc/self/mem", path))
		},
	} {
		for i, name := range names {
			if name == "lock" || strings.HasSuffix(name, ".key") {
				continue
			}
			copyTree(t, good, work)
			if err := spoil(filepath.Join(work, name), filepath.Join(good, names[(i+1)%len(names)])); err != nil {
				t.Fatalf("%s %s: %v", name, kind, err)
			}
			outcomes[damagedStart(t, damagedSettings(work), name+" "+kind, name)]++
		}
	}
	t.Logf("%d files: %v", len(names), outcomes)
}

// A missing ledger prevents the start, although the filters are intact. After the repair,
// which reports what is lost, the status shows the loss until it is acknowledged.
func TestLostLedger(t *testing.T) {
	s := damagedSettings(t.TempDir())
	damagedLife(t, s)
	log := slog.New(slog.DiscardHandler)
	path := filepath.Join(s.Data, "reports.db")
	testenv.Check(t, os.Remove(path))
	if st, err := state.Open(s, log); err == nil {
		st.Close()
		t.Fatal("it starts")
	} else if !strings.Contains(err.Error(), path) || !strings.Contains(hint(err), "--repair") {
		t.Errorf("%v, hint %q", err, hint(err))
	}
	var out bytes.Buffer
	if err := state.Repair(s, log, &out); err != nil || !strings.Contains(out.String(), "lost: all of its content") {
		t.Fatalf("%v\n%s", err, &out)
	}
	st, err := state.Open(s, log)
	testenv.Check(t, err)
	if got := st.DB.DamagedFiles(); len(got) != 1 || got[0].Name != "reports.db.damaged" || !st.DB.Judge(letterSet(t, "fresh")).Listed {
		t.Errorf("damaged: %v", got)
	}
	testenv.Check(t, errors.Join(os.Remove(path+".damaged"), st.Close()))
	if st, err = state.Open(s, log); err != nil {
		t.Fatal(err)
	}
	if got := st.DB.DamagedFiles(); len(got) > 0 {
		t.Errorf("acknowledged: %v", got)
	}
	testenv.Check(t, st.Close())
}

// A damaged file that was set aside is reported in the log, in the status and in /readyz
// until it is removed.
func TestDamagedFileIsShown(t *testing.T) {
	s := damagedSettings(t.TempDir())
	damagedLife(t, s)
	votes, err := filepath.Glob(filepath.Join(s.Data, "own-*.votes"))
	if err != nil || len(votes) == 0 {
		t.Fatal(votes, err)
	}
	harness.Write(t, votes[0], "no votes")
	var logged bytes.Buffer
	st, err := state.Open(s, slog.New(slog.NewTextHandler(&logged, nil)))
	testenv.Check(t, err)
	defer st.Close()
	d := &service{started: s, log: slog.New(slog.DiscardHandler), db: st.DB, desk: desk.New(st.DB, st.Reports, desk.Options{}), door: server.NewDoor(server.DoorOptions{})}
	d.milter = milter.NewServer(st.DB, milter.Options{})
	d.openHistory()
	d.serving.Store(true)
	name := filepath.Base(votes[0]) + ".damaged"
	ready := func() string {
		w := httptest.NewRecorder()
		d.readyz(w, httptest.NewRequestWithContext(context.Background(), "GET", "/readyz", nil))
		body, _ := io.ReadAll(w.Result().Body)
		return string(body)
	}
	if got := ready(); !strings.HasPrefix(got, "ready\n") || !strings.Contains(got, name) {
		t.Errorf("readyz: %q", got)
	}
	if got := st.DB.Status().Damaged; len(got) != 1 || got[0].Name != name {
		t.Errorf("status: %v", got)
	}
	if !strings.Contains(logged.String(), name) {
		t.Errorf("log: %s", &logged)
	}
	testenv.Check(t, os.Remove(votes[0]+".damaged"))
	if got := ready(); got != "ready\n" || len(st.DB.Status().Damaged) > 0 {
		t.Errorf("removed: %q, %v", got, st.DB.Status().Damaged)
	}
}

// A repair that was interrupted after mending the journal is completed by the next one: the
// report lost with half of the journal is restored from the ledger.
func TestInterruptedRepairGoesOn(t *testing.T) {
	root, log := t.TempDir(), slog.New(slog.DiscardHandler)
	s := damagedSettings(filepath.Join(root, "good"))
	damagedLife(t, s)
	work, killed := damagedSettings(filepath.Join(root, "work")), damagedSettings(filepath.Join(root, "killed"))
	copyTree(t, s.Data+".crashed", work.Data)
	journals, err := filepath.Glob(filepath.Join(work.Data, "journal-*"))
	if err != nil || len(journals) == 0 {
		t.Fatal(journals, err)
	}
	newest := journals[len(journals)-1]
	data, err := os.ReadFile(newest)
	testenv.Check(t, err)
	for at := 40; at < len(data)/2; at += 8 { // all of "fresh"
		data[at] ^= 1
	}
	harness.Write(t, newest, string(data))

	key, err := keyring.ReadKey(work.KeyFile)
	testenv.Check(t, err)
	options := work.DatabaseOptions(key, log)
	if options.SigningKey, err = keyring.ReadSigningKey(work.SigningKeyFile); err != nil {
		t.Fatal(err)
	}
	db, done, err := bloomdb.Repair(options)
	if err != nil || len(done) != 1 {
		t.Fatal(done, err)
	}
	copyTree(t, work.Data, killed.Data) // before anything is restored
	testenv.Check(t, db.Close())
	if db.Judge(letterSet(t, "fresh")).Listed {
		t.Fatal("the record is not lost")
	}

	started := damagedSettings(filepath.Join(root, "started")) // without another repair
	copyTree(t, killed.Data, started.Data)
	var out bytes.Buffer
	if err := state.Repair(killed, log, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	startsWithAll(t, killed, log)
	startsWithAll(t, started, log)
}

// startsWithAll starts as the daemon does, and expects what damagedLife reported.
func startsWithAll(t *testing.T, s *settings.Settings, log *slog.Logger) {
	t.Helper()
	st, err := openState(t.Context(), s, log, &supervisor{log: log})
	testenv.Check(t, err)
	defer st.Close()
	for letter, want := range map[string]bool{"known": true, "fresh": true, "last": true, "innocent": false} {
		if got := st.DB.Judge(letterSet(t, letter)).Listed; got != want {
			t.Errorf("%s: %q listed %v, want %v", s.Data, letter, got, want)
		}
	}
	if st.DB.MustRelist() {
		t.Error("the next start does it again")
	}
}

// A ledger beside which all filters, journal and identity are gone is not taken for that of a new
// site: its reports are listed.
func TestLedgerAloneIsListed(t *testing.T) {
	s, log := damagedSettings(t.TempDir()), slog.New(slog.DiscardHandler)
	damagedLife(t, s)
	for _, pattern := range []string{"identity", "segments", "clock", "journal-*", "*.snapshot", "*.votes"} {
		paths, err := filepath.Glob(filepath.Join(s.Data, pattern))
		testenv.Check(t, err)
		for _, path := range paths {
			testenv.Check(t, os.Remove(path))
		}
	}
	startsWithAll(t, s, log)
}

// A repair that mends nothing changes no verdict: the filters may have words that the ledger has not.
func TestRepairOfNothingChangesNoVerdict(t *testing.T) {
	s, log := damagedSettings(t.TempDir()), slog.New(slog.DiscardHandler)
	damagedLife(t, s)
	st, err := state.Open(s, log)
	testenv.Check(t, err)
	testenv.Check(t, st.DB.Revoke(letterSet(t, "known")))
	testenv.Check(t, st.Close())
	var out bytes.Buffer
	testenv.Check(t, state.Repair(s, log, &out))
	if !strings.Contains(out.String(), "nothing is damaged") {
		t.Error(&out)
	}
	st, err = state.Open(s, log)
	testenv.Check(t, err)
	defer st.Close()
	if st.DB.Judge(letterSet(t, "known")).Listed {
		t.Errorf("the revoked message is listed again\n%s", &out)
	}
}

// An older copy of the database beside the ledger of today is not damaged. A repair lists what it lacks.
func TestRepairOfOlderDatabase(t *testing.T) {
	s, log := damagedSettings(t.TempDir()), slog.New(slog.DiscardHandler)
	st, err := state.Open(s, log)
	testenv.Check(t, err)
	testenv.Check(t, st.Close())
	older := damagedSettings(filepath.Join(t.TempDir(), "older"))
	copyTree(t, s.Data, older.Data)
	damagedLife(t, s)
	reports, err := os.ReadFile(s.LedgerOptions(log).Path)
	testenv.Check(t, err)
	harness.Write(t, older.LedgerOptions(log).Path, string(reports))
	testenv.Check(t, state.Repair(older, log, io.Discard))
	startsWithAll(t, older, log)
}
