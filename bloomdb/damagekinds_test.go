package bloomdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// damageKinds are kinds of damage to a file, besides a flipped byte. "of another" replaces it
// with the file others.
var damageKinds = map[string]func(path, others string) error{
	"missing":     func(path, _ string) error { return os.Remove(path) },
	"empty":       func(path, _ string) error { return os.Truncate(path, 0) },
	"cut in half": func(path, _ string) error { return halve(path) },
	"of another": func(path, others string) error {
		data, err := os.ReadFile(others)
		return errors.Join(err, os.WriteFile(path, data, 0o600))
	},
	"a folder": func(path, _ string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	"a folder, after a file": func(path, _ string) error { // an earlier damage was not acknowledged
		return errors.Join(os.Rename(path, path+folder.DamagedSuffix), os.Mkdir(path, 0o700))
	},
	"cut, after a folder": func(path, _ string) error {
		return errors.Join(os.MkdirAll(path+folder.DamagedSuffix+"/sub", 0o700), halve(path))
	},
	"a pipe": func(path, _ string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) },
	"a link to nothing": func(path, _ string) error {
		return errors.Join(os.Remove(path), os.Symlink(path+".elsewhere", path))
	},
	"unreadable": func(path, _ string) error { // reading the memory at address 0 is EIO
		return errors.Join(os.Remove(path), os.Symlink("/proc/self/mem", path))
	},
}

func halve(path string) error {
	info, err := os.Stat(path)
	return errors.Join(err, os.Truncate(path, info.Size()/2))
}

// Each file of the folder is missing, empty, truncated, replaced by another one, or unreadable.
// The database opens, or rejects the folder with an error after which a repair works. In both
// cases, reports and revocations are as before, and none are invented. Restore stands in for the
// ledger.
func TestEveryFileDamaged(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	root := ramDir(t)
	good, work := filepath.Join(root, "good"), filepath.Join(root, "work")
	fillFolder(t, good, false)
	names := allFiles(t, good)
	outcomes := map[string]int{}
	for kind, spoil := range damageKinds {
		for i, name := range names {
			copyDir(t, good, work)
			path := filepath.Join(work, name)
			if err := spoil(path, filepath.Join(good, names[(i+1)%len(names)])); err != nil {
				t.Fatalf("%s %s: %v", name, kind, err)
			}
			outcomes[damageOutcome(t, work, name, name+" is "+kind)]++
		}
	}
	t.Logf("%d files: %v", len(names), outcomes)
	for _, want := range []string{"opened", "set aside", "repaired"} {
		if outcomes[want] == 0 {
			t.Errorf("no file was %s", want)
		}
	}
}

// damageOutcome opens a folder with one damaged file, and repairs it if Open rejects it.
func damageOutcome(t *testing.T, dir, name, what string) string {
	t.Helper()
	db, err := bloomdbtest.TryOpen(repairOptions(dir))
	if err != nil {
		var damage *folder.DamageError
		if !errors.As(err, &damage) || filepath.Base(damage.Path) != name {
			t.Fatalf("%s: %v", what, err)
		}
		repaired, done, err := bloomdbtest.Repair(repairOptions(dir))
		if err != nil || len(done) != 1 || filepath.Base(done[0].Path) != name {
			t.Fatalf("%s: repair: %v, %v", what, done, err)
		}
		now := repairOptions(dir).Now()
		for _, n := range []int{1, 2} {
			if _, err := repaired.Restore(bloomdbtest.Message(n), layout.ClassOther, false, now, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := repaired.Restore(bloomdbtest.Message(3), layout.ClassOther, true, now, nil); err != nil {
			t.Fatal(err)
		}
		must(t, repaired.Close())
		db = bloomdbtest.MustOpen(t, repairOptions(dir))
	}
	for n, want := range map[int]bool{1: true, 2: true, 3: false, 5: false} {
		if db.Judge(bloomdbtest.Message(n)).Listed != want {
			t.Errorf("%s: message %d listed %v", what, n, !want)
		}
	}
	aside := db.DamagedFiles()
	must(t, db.Close())
	switch {
	case len(aside) == 0:
		if !forgettable(name) {
			t.Errorf("%s: the loss is not shown", what)
		}
		return "opened"
	case repair.Expendable(name):
		return "set aside"
	}
	return "repaired"
}

// forgettable are files whose absence has no effect.
func forgettable(name string) bool {
	return name == "lock" || name == clock.File || never.IsPath(name) || store.IsVotesPath(name)
}

// A filter file replaced by one of another site, kind or generation is not used: revoked
// messages must not be listed.
func TestReplacedFilter(t *testing.T) {
	root := ramDir(t)
	good, work := filepath.Join(root, "good"), filepath.Join(root, "work")
	fillFolder(t, good, true)
	other := repairOptions(filepath.Join(root, "other"))
	other.Site, other.Members = "mx9", nil
	db := bloomdbtest.MustOpen(t, other)
	bloomdbtest.Report(t, db, 5)
	must(t, db.Close())
	spam := filepath.Base(files(t, good, "spam-*.snapshot")[0])
	for what, others := range map[string]string{
		"another site's": filepath.Join(other.Dir, spam),
		"the revoked":    files(t, good, "revoked-*.snapshot")[0],
	} {
		copyDir(t, good, work)
		must(t, damageKinds["of another"](filepath.Join(work, spam), others))
		if got := damageOutcome(t, work, spam, spam+" is "+what); got != "repaired" {
			t.Errorf("%s: %s", what, got)
		}
	}
	revoked := filepath.Base(files(t, good, "revoked-*.snapshot")[0])
	must(t, damageKinds["of another"](filepath.Join(other.Dir, revoked), filepath.Join(other.Dir, spam)))
	for names, faults := range map[[2]string]int{{"identity", "identity"}: 1, {"identity", revoked}: 2} {
		copyDir(t, good, work)
		for _, name := range names {
			must(t, damageKinds["of another"](filepath.Join(work, name), filepath.Join(other.Dir, name)))
		}
		if _, err := bloomdbtest.TryOpen(repairOptions(work)); !errors.Is(err, layout.ErrIdentity) {
			t.Errorf("another site's %s: %v", names, err)
		}
		db, done, err := bloomdbtest.Repair(repairOptions(work))
		if err != nil || len(done) != faults || !strings.Contains(done[0].Fault, "mx9") {
			t.Fatal(names, done, err)
		}
		listed(t, db, 1, true)
		must(t, db.Close())
		if _, err := os.Stat(folder.IdentityPath(work) + folder.DamagedSuffix); err != nil {
			t.Error(err)
		}
	}
	o := repairOptions(work)
	o.Site = "mx8" // a mistyped name is not damage
	if _, _, err := bloomdbtest.Repair(o); !errors.Is(err, layout.ErrIdentity) {
		t.Errorf("under another name: %v", err)
	}
}
