package bloomdb_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// ramDir returns a folder in memory if the machine has one, because these tests open thousands
// of databases and would wait for the disk.
func ramDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "spambloom-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func repairOptions(dir string) bloomdb.Options {
	o := small(dir)
	o.Reports.Capacity, o.Votes = 40, 1
	o.Members = wire.Members{"mx2": {}, "mx3": {Trust: wire.TrustVote}}
	return o
}

// fillFolder fills a folder with a file of every kind. Messages 1 and 2 are reported, 2 only in
// the journal; 3 is reported and revoked; 6 is retouched; 8 is on the never-list; 7 is reported
// at mx2 and 9 at mx3.
func fillFolder(t *testing.T, dir string, closed bool) {
	t.Helper()
	db := bloomdbtest.MustOpen(t, repairOptions(dir))
	for _, name := range []string{"mx2", "mx3"} {
		o := repairOptions(t.TempDir())
		o.Site, o.Members = name, nil
		other := bloomdbtest.Open(t, o)
		bloomdbtest.Report(t, other, map[string]int{"mx2": 7, "mx3": 9}[name])
		bloomdbtest.Count(t, other, 7, 20)
		if name == "mx2" {
			bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, other)...)
		} else {
			must(t, db.ApplyVotes(mustVotes(t, other)))
		}
	}
	mustReportAs(t, db, 1, layout.ClassPhish)
	bloomdbtest.Report(t, db, 3)
	bloomdbtest.Revoke(t, db, 3)
	bloomdbtest.Count(t, db, 1, 30)
	set := bloomdbtest.Message(4)
	set.Domains = []string{"spam.example"}
	mustReportSet(t, db, set)
	bloomdbtest.Report(t, db, 6)
	mustRetouch(t, db, 6)
	mustNever(t, db, bloomdbtest.Message(8), "our newsletter")
	db.Learn(bloomdbtest.Message(10), bloomdb.Sender{From: "shop.example"}, bloomdb.Evidence{}, db.Now())
	bloomdbtest.Drain(t, db)
	must(t, db.Save())
	bloomdbtest.Report(t, db, 2)
	bloomdbtest.Count(t, db, 2, 3)
	if closed {
		must(t, db.Close())
		return
	}
	must(t, db.Maintain())
	recordSizes(t, db)
	crash(t, db)
}

// allFiles returns the names of a folder's files that are not empty.
func allFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if info, _ := e.Info(); err == nil && !e.IsDir() && info.Size() > 0 {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	}))
	return names
}

// flips returns the places of a file at which a byte is flipped, at most n, including its first
// and last bytes.
func flips(size, most int) (places []int) {
	if size <= most {
		for i := range size {
			places = append(places, i)
		}
		return places
	}
	for i := range most {
		places = append(places, i*(size-1)/(most-1))
	}
	return places
}

// A flipped byte in every file of the folder, at 200 places each in a soak: the database opens,
// or rejects the folder with an error after which a repair works. In both cases, reports and
// revocations are as before. Restore stands in for the ledger.
func TestEveryFlippedByte(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for name, most := range map[string]int{"stopped": 20, "crashed": 200} {
		t.Run(name, func(t *testing.T) {
			if !testenv.Soak() {
				most = min(most, 20)
			}
			root := ramDir(t)
			good, work := filepath.Join(root, "good"), filepath.Join(root, "work")
			fillFolder(t, good, name == "stopped")
			names := allFiles(t, good)
			outcomes := make(map[string]int)
			for _, name := range names {
				data, err := os.ReadFile(filepath.Join(good, name))
				must(t, err)
				for i, at := range flips(len(data), most) {
					copyDir(t, good, work)
					bad := []byte(string(data))
					bad[at] ^= 1 << (at % 8)
					must(t, os.WriteFile(filepath.Join(work, name), bad, 0o600))
					outcomes[outcome(t, work, name, at, i%25 == 0)]++
				}
			}
			t.Logf("%d files: %v", len(names), outcomes)
			if outcomes["set aside"] == 0 || outcomes["repaired"] == 0 {
				t.Errorf("outcomes %v: want both rejected and accepted folders", outcomes)
			}
		})
	}
}

// outcome opens a folder with one damaged file, and repairs it if Open rejects it. If again is
// true, it also closes the database and opens it once more.
func outcome(t *testing.T, dir, name string, at int, again bool) string {
	t.Helper()
	db, err := bloomdbtest.TryOpen(repairOptions(dir))
	if err == nil {
		listed(t, db, 1, true)
		torn := strings.HasPrefix(name, "journal-") // read as left by a crash
		if !torn {
			listed(t, db, 2, true)
		}
		listed(t, db, 3, false)
		listed(t, db, 5, false)
		aside := len(db.DamagedFiles())
		if aside == 0 {
			crash(t, db)
			return "opened"
		}
		reopen(t, db, again)
		return "set aside"
	}
	var damage *folder.DamageError
	if !errors.As(err, &damage) || filepath.Base(damage.Path) != filepath.Base(name) {
		t.Fatalf("%s, byte %d: %v", name, at, err)
	}
	db, done, err := bloomdbtest.Repair(repairOptions(dir))
	if err != nil || len(done) != 1 || filepath.Base(done[0].Path) != filepath.Base(name) {
		t.Fatalf("%s, byte %d: repair: %v, %v", name, at, done, err)
	}
	now := repairOptions(dir).Now()
	for _, n := range []int{1, 2} {
		if kept, err := db.Restore(bloomdbtest.Message(n), layout.ClassOther, false, now, nil); err != nil || !kept {
			t.Fatalf("%s, byte %d: restore: %v, %v", name, at, kept, err)
		}
	}
	if _, err := db.Restore(bloomdbtest.Message(3), layout.ClassOther, true, now, nil); err != nil {
		t.Fatal(err)
	}
	reopen(t, db, again)
	return "repaired"
}

// reopen closes a database. Its folder should be undamaged then.
func reopen(t *testing.T, db *bloomdb.DB, again bool) {
	t.Helper()
	if !again {
		listed(t, db, 1, true)
		crash(t, db)
		return
	}
	must(t, db.Close())
	db, err := bloomdbtest.TryOpen(bloomdbtest.OptionsOf(db))
	must(t, err)
	listed(t, db, 1, true)
	listed(t, db, 2, true)
	listed(t, db, 3, false)
	listed(t, db, 5, false)
	must(t, errors.Join(db.Check(), db.CheckFiles()))
	must(t, db.Close())
}

// mustSetAside opens a folder with a damaged or missing file. The database opens without the
// file, and lists it.
func mustSetAside(t *testing.T, o bloomdb.Options, path string) {
	t.Helper()
	db, err := bloomdbtest.TryOpen(o)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer os.Remove(path + folder.DamagedSuffix) // of this attempt
	defer crash(t, db)
	name := filepath.Base(path)
	if !slices.ContainsFunc(db.DamagedFiles(), func(f folder.DamagedFile) bool {
		return (f.Name == name || f.Name == name+folder.DamagedSuffix) && f.Cost != ""
	}) {
		t.Errorf("%s is not among %v", name, db.DamagedFiles())
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is not set aside: %v", path, err)
	}
}

// During a key change, both identities are repaired, each under the key of its own files, also
// if one is missing.
func TestRepairIdentities(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"damaged": func(path string) error { return os.Truncate(path, 40) },
		"missing": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			o := repairOptions(t.TempDir())
			before := bloomdbtest.Open(t, o)
			bloomdbtest.Report(t, before, 1)
			epoch, _ := before.Head()
			must(t, before.Mute("mx9", true))
			must(t, before.Close())
			o.PreviousKey, o.Key = &bloomdbtest.Key, [32]byte{99}
			db := bloomdbtest.Open(t, o)
			bloomdbtest.Report(t, db, 2)
			must(t, db.Close())

			must(t, spoil(folder.IdentityPath(o.Dir)))
			if db, err := bloomdbtest.TryOpen(o); err == nil {
				db.Close()
				t.Fatal("it opens")
			}
			db, done, err := bloomdbtest.Repair(o)
			if err != nil || len(done) != 1 {
				t.Fatal(done, err)
			}
			if now, _ := db.Previous().Head(); now != folder.NextEpoch(epoch, true) || !identity(t, o.Dir).Republish {
				t.Errorf("previous: epoch %d after %d, identity %+v", now, epoch, identity(t, o.Dir))
			}
			listed(t, db, 1, true)
			listed(t, db, 2, true)
			must(t, db.Close())
			db = bloomdbtest.Open(t, o)
			listed(t, db, 1, true)
			if !db.Muted("mx9") { // muted under the other key as well
				t.Error("mx9 is not muted")
			}
		})
	}
}

// A repair publishes its changes to other sites by a snapshot, also if it is interrupted: after
// the journal was mended, or after messages were restored.
func TestInterruptedRepairIsPublished(t *testing.T) {
	due := func(t *testing.T, o bloomdb.Options, want bool) {
		t.Helper()
		id, err := folder.ReadIdentity(o.Dir)
		if must(t, err); id.Republish != want {
			t.Errorf("a snapshot is due: %v, want %v", id.Republish, want)
		}
	}
	o := small(ramDir(t))
	o.Exchange = true
	db := bloomdbtest.MustOpen(t, o)
	bloomdbtest.Report(t, db, 1)
	bloomdbtest.Report(t, db, 2)
	must(t, db.Maintain())
	crash(t, db)
	due(t, o, false)
	path := files(t, o.Dir, "journal-*")[0]
	data, err := os.ReadFile(path)
	must(t, err)
	whole := slices.Clone(data)
	data[journal.Header+20] ^= 1 // in the first record
	must(t, os.WriteFile(path, data, 0o600))
	db, done, err := bloomdbtest.Repair(o)
	if must(t, err); len(done) != 1 {
		t.Fatal(done)
	}
	crash(t, db)
	due(t, o, true)

	// The same folder without damage: only new content has to be published.
	must(t, os.WriteFile(path, whole, 0o600))
	id, err := folder.ReadIdentity(o.Dir)
	must(t, err)
	id.Republish = false
	must(t, id.Write(o.Dir))
	for _, c := range []struct {
		restored int
		due      bool
	}{{1, false}, {2, false}, {3, true}} {
		db, done, err := bloomdbtest.Repair(o)
		if must(t, err); len(done) != 0 {
			t.Fatal(done)
		}
		_, err = db.Restore(bloomdbtest.Message(c.restored), layout.ClassOther, false, o.Now(), nil)
		must(t, err)
		crash(t, db)
		due(t, o, c.due)
	}
}

// mustRefuse checks that Open rejects a folder as damaged, and that the error names a file.
func mustRefuse(t *testing.T, o bloomdb.Options, name string) {
	t.Helper()
	db, err := bloomdbtest.TryOpen(o)
	if err == nil {
		db.Close()
		t.Fatalf("Open succeeded without %s", name)
	}
	var damage *folder.DamageError
	if !errors.As(err, &damage) || !strings.HasPrefix(filepath.Base(damage.Path), name) {
		t.Fatalf("the error does not name %s: %v", name, err)
	}
}
