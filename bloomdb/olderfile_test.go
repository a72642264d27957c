package bloomdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// olderOptions are those of olderFolder. Without an exchange, no record waits to be published.
func olderOptions(dir string) bloomdb.Options {
	o := repairOptions(dir)
	o.Exchange, o.Reports.Capacity = false, 400
	return o
}

// olderFolder returns the folder of a site, and an earlier copy of it. Since the copy, message 2 was
// reported, 3 revoked, 5 reported again after its revocation, and 6 retouched. The journal of these
// is gone: snapshots contain them.
func olderFolder(t *testing.T) (folder, earlier string) {
	t.Helper()
	root := ramDir(t)
	folder, earlier = filepath.Join(root, "folder"), filepath.Join(root, "earlier")
	o := olderOptions(folder)
	db := bloomdbtest.MustOpen(t, o)
	for _, n := range []int{1, 3, 5, 6, 7} {
		mustReportAs(t, db, n, layout.ClassPhish)
	}
	set := bloomdbtest.Message(4)
	set.Domains = []string{"spam.example"}
	mustReportSet(t, db, set)
	bloomdbtest.Revoke(t, db, 5)
	bloomdbtest.Report(t, db, 5)
	bloomdbtest.Revoke(t, db, 5)
	mustRetouch(t, db, 7)
	bloomdbtest.Count(t, db, 1, 30)
	must(t, db.Save())
	copyDir(t, folder, earlier)
	mustReportAs(t, db, 2, layout.ClassPhish)
	set = bloomdbtest.Message(8)
	set.Domains = []string{"spam.example"}
	mustReportSet(t, db, set)
	bloomdbtest.Revoke(t, db, 3)
	bloomdbtest.Report(t, db, 5)
	mustRetouch(t, db, 6)
	bloomdbtest.Count(t, db, 1, 30)
	must(t, db.Mute("mx2", true))
	must(t, db.Save())
	must(t, db.Close())
	return folder, earlier
}

// asBefore reports whether the messages of olderFolder have the right verdicts.
func asBefore(t *testing.T, dir string) bool {
	t.Helper()
	o := olderOptions(dir)
	db := bloomdbtest.MustOpen(t, o)
	defer func() { must(t, db.Close()) }()
	for n, want := range map[int]bool{1: true, 2: true, 3: false, 4: true, 5: true, 8: true} {
		if db.Judge(bloomdbtest.Message(n)).Listed != want {
			t.Logf("message %d: listed %v", n, !want)
			return false
		}
	}
	return true
}

// An older intact copy of a file is put in its place, as from a backup. If it lacks reports, revocations
// or the site's own place, Open refuses it, and a repair with the ledger restores all. If it lacks
// anything else that is not learned again, it is set aside by name.
func TestOlderCopyOfEachFile(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	good, earlier := olderFolder(t)
	outcomes := make(map[string][]string)
	for _, name := range allFiles(t, earlier) {
		old, err := os.ReadFile(filepath.Join(earlier, name))
		must(t, err)
		if now, err := os.ReadFile(filepath.Join(good, name)); err != nil || string(now) == string(old) {
			continue
		}
		work := filepath.Join(filepath.Dir(good), "work")
		copyDir(t, good, work)
		must(t, os.WriteFile(filepath.Join(work, name), old, 0o600))
		outcome := olderOutcome(t, work, name)
		outcomes[outcome] = append(outcomes[outcome], name)
		if !asBefore(t, work) {
			t.Errorf("%s, %s: reports differ", name, outcome)
		}
		_, votes := vote.ParseOwnVotesPath(name)
		_, common := commonness.Files.Parse(name)
		if outcome == "unnoticed" && !votes && !common && name != clock.File {
			t.Errorf("%s: its age is not noticed", name)
		}
	}
	t.Log(outcomes)
	for outcome, want := range map[string][]string{
		"repaired":  {"identity", "ladder-2930.snapshot", "revoked-2930.snapshot", "segments", "spam-2930.snapshot"},
		"set aside": {"classes-2930.snapshot", "counts-20516.snapshot", "domains-2930.snapshot", "spam-2930.mask"},
	} {
		for _, name := range want {
			if !slices.Contains(outcomes[outcome], name) {
				t.Errorf("%s was not %s", name, outcome)
			}
		}
	}
}

// olderOutcome opens a folder with an older copy of one file, and repairs it if Open rejects it.
// Restore stands in for the ledger.
func olderOutcome(t *testing.T, dir, name string) string {
	t.Helper()
	o := olderOptions(dir)
	db, err := bloomdbtest.TryOpen(o)
	if err == nil {
		aside := db.DamagedFiles()
		must(t, db.Close())
		if len(aside) == 1 && aside[0].Name == name+folder.DamagedSuffix {
			return "set aside"
		}
		return "unnoticed"
	}
	var damage *folder.DamageError
	if !errors.As(err, &damage) {
		t.Fatalf("%s: %v", name, err)
	}
	db, done, err := bloomdbtest.Repair(o)
	if err != nil || len(done) == 0 {
		t.Fatalf("%s: repair: %v, %v", name, done, err)
	}
	for n, revoked := range map[int]bool{1: false, 2: false, 3: true, 4: false, 5: false, 8: false} {
		_, err := db.Restore(bloomdbtest.Message(n), layout.ClassOther, revoked, o.Now(), nil)
		must(t, err)
	}
	must(t, db.Close())
	return "repaired"
}

// A repair without the journal is interrupted, and done again. A crash between the next snapshots and
// their identity is no older copy: the journal does not begin with lower numbers.
func TestNumbersAfterLostJournal(t *testing.T) {
	o := olderOptions(ramDir(t))
	db := bloomdbtest.MustOpen(t, o)
	for n := range 5 {
		bloomdbtest.Report(t, db, n)
		must(t, db.Save())
	}
	must(t, db.Close())
	segments, err := filepath.Glob(filepath.Join(o.Dir, "journal-*"))
	must(t, err)
	for _, path := range segments {
		must(t, os.Remove(path))
	}
	interrupted := o
	interrupted.WriteJournalTo(func(string) (journal.SegmentFile, error) { return nil, syscall.EIO })
	if _, _, err := bloomdbtest.Repair(interrupted); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	db, _, err = bloomdbtest.Repair(o)
	must(t, err)
	before, err := os.ReadFile(folder.IdentityPath(o.Dir))
	must(t, err)
	bloomdbtest.Report(t, db, 9)
	must(t, db.Save())
	crash(t, db)
	must(t, os.WriteFile(folder.IdentityPath(o.Dir), before, 0o600))
	must(t, bloomdbtest.MustOpen(t, o).Close())
}
