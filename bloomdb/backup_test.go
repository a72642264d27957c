package bloomdb_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/backup"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// withoutExchange configures a site without an exchange.
func withoutExchange(o bloomdb.Options) bloomdb.Options {
	o.Exchange = false
	return o
}

// openPopulated opens a database and fills it with data of every kind, over two generations.
func openPopulated(t testing.TB, o bloomdb.Options, c *bloomdbtest.Clock) *bloomdb.DB {
	t.Helper()
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	mustReportAs(t, db, 1, layout.ClassPhish)
	bloomdbtest.Report(t, db, 2)
	c.Add(o.Reports.Period)
	bloomdbtest.Report(t, db, 3)
	mustReportSet(t, db, wordy(4, words(0, 60)...))
	linked := wordy(5, words(500, 60)...)
	linked.Domains = []string{"spam.example"}
	mustReportSet(t, db, linked)
	testenv.Check(t, db.Revoke(bloomdbtest.Message(2)))
	bloomdbtest.Report(t, db, 6)
	if _, err := db.Retouch(bloomdbtest.Message(6)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Never(bloomdbtest.Message(7), "our newsletter"); err != nil {
		t.Fatal(err)
	}
	bloomdbtest.Count(t, db, 8, 30)
	return db
}

// populatedOptions keep two generations of a week each, with room for everything in
// openPopulated.
func populatedOptions(dir, site string) bloomdb.Options {
	o := bloomdbtest.Options(dir, site)
	o.Reports.Period, o.Reports.Classes = 168*time.Hour, true
	o.Reports.Capacity, o.Counts.Capacity = 100, 100
	return o
}

// checkPopulated checks that the database contains what openPopulated wrote.
func checkPopulated(t *testing.T, db *bloomdb.DB) {
	t.Helper()
	for n, want := range map[int]bool{1: true, 2: false, 3: true, 4: true, 6: false, 7: false, 9: false} {
		listed(t, db, n, want)
	}
	if e := db.Judge(bloomdbtest.Message(1)); e.Class != layout.ClassPhish {
		t.Errorf("class %s", e.Class)
	}
	if !db.Judge(wordy(50, words(0, 60)...)).Listed {
		t.Error("a near-duplicate is not listed")
	}
	if err := db.Report(bloomdbtest.Message(7), layout.ClassOther); !errors.Is(err, never.ErrNever) {
		t.Errorf("report of a message on the never-list: %v", err)
	}
	if got := db.Judge(bloomdbtest.Message(8)).Count; got < 30 {
		t.Errorf("message 8 counted %d times", got)
	}
	if g := reports(db)[0]; g.Domains == nil || g.Domains.Count(bloomdbtest.Ring.DomainKeys("spam.example").Campaigns) != 1 {
		t.Error("the campaign of a domain is not counted")
	}
}

func must(t rapid.TB, err error) {
	t.Helper()
	testenv.Check(t, err)
}

// writeBackup writes a backup into a folder.
func writeBackup(t rapid.TB, b *bloomdb.Backup, dir string) {
	t.Helper()
	write := func(f backup.File) {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		data, err := io.ReadAll(f.Content)
		if err != nil || int64(len(data)) != f.Size {
			t.Fatalf("%s: %d bytes of %d, %v", f.Name, len(data), f.Size, err)
		}
		must(t, os.WriteFile(path, data, 0o600))
	}
	for f := range b.Files() {
		write(f)
	}
	for _, f := range b.Identities() {
		write(f)
	}
	must(t, b.Close())
}

func mustBackup(t testing.TB, db *bloomdb.DB) *bloomdb.Backup {
	t.Helper()
	b, err := db.Backup()
	testenv.Check(t, err)
	return b
}

// A backup contains all data of a site, whether it is in snapshots or in the journal, and
// whatever happens to the site's own files before they are copied.
func TestBackup(t *testing.T) {
	for _, saved := range []bool{false, true} {
		c := bloomdbtest.NewClock()
		o := populatedOptions(t.TempDir(), "mx1")
		db := openPopulated(t, o, c)
		must(t, db.Maintain()) // counts are on disk after a second
		if saved {
			must(t, db.Save())
		}
		b := mustBackup(t, db)
		epoch, _ := db.Head()
		bloomdbtest.Report(t, db, 20)
		if _, err := db.RemoveNever(bloomdbtest.Message(7)); err != nil {
			t.Fatal(err)
		}
		c.Add(100 * o.Reports.Period) // all of its files expire
		for range layout.KeepExpired + 1 {
			db.Maintain()
		}
		must(t, db.Save())

		o.Dir = filepath.Join(t.TempDir(), "copy")
		writeBackup(t, b, o.Dir)
		if err := bloomdb.CheckFolder(o.Dir); err != nil {
			t.Error(err)
		}
		then := bloomdbtest.NewClock()
		then.Add(o.Reports.Period)
		o.Now = then.Now
		copied := bloomdbtest.Open(t, o)
		checkPopulated(t, copied)
		listed(t, copied, 20, false)
		if e, seq := copied.Head(); e != epoch|1 || seq != 0 || !folder.CarriesOver(e, epoch) {
			t.Errorf("the copy is in epoch %d at %d, after %d", e, seq, epoch)
		}
	}
}

// A pipe in the place of a file is an error of the backup. It blocks neither the backup nor what waits for
// it: snapshots, and the end of the daemon.
func TestBackupOfPipe(t *testing.T) {
	o := populatedOptions(t.TempDir(), "mx1")
	db := openPopulated(t, o, bloomdbtest.NewClock())
	must(t, db.Save())
	files, err := filepath.Glob(filepath.Join(o.Dir, "spam-*.snapshot"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range []string{filepath.Join(o.Dir, "clock"), files[0]} {
		must(t, os.RemoveAll(path))
		must(t, syscall.Mkfifo(path, 0o600))
		b, err := db.Backup()
		var damage *bloomdb.DamageError
		if !errors.As(err, &damage) || damage.Path != path {
			t.Errorf("%s: %v %v", path, b, err)
		}
		must(t, os.Remove(path))
	}
}

// During a key change, the backup contains the databases of both keys.
func TestBackupInRollover(t *testing.T) {
	o := withoutExchange(populatedOptions(t.TempDir(), "mx1"))
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	must(t, db.Close())
	before := o.Key
	o.Key, o.PreviousKey = [32]byte{9}, &before
	db = bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 2)
	b := mustBackup(t, db)
	o.Dir = filepath.Join(t.TempDir(), "copy")
	writeBackup(t, b, o.Dir)
	must(t, bloomdb.CheckFolder(o.Dir))
	copied := bloomdbtest.Open(t, o)
	if copied.Previous() == nil {
		t.Fatal("the previous key's database is missing")
	}
	for n := 1; n <= 2; n++ {
		listed(t, copied, n, true)
	}
}

// A copy that was cut off before its end is rejected.
func TestBackupCutOff(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := populatedOptions(t.TempDir(), "mx1")
	db := openPopulated(t, o, c)
	must(t, db.Save())
	b := mustBackup(t, db)
	whole := filepath.Join(t.TempDir(), "whole")
	writeBackup(t, b, whole)
	o.Now, o.Dir = c.Now, filepath.Join(t.TempDir(), "cut")
	must(t, os.Mkdir(o.Dir, 0o700))
	again := mustBackup(t, db)
	defer again.Close()
	for f := range again.Files() {
		data, err := os.ReadFile(filepath.Join(whole, f.Name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(o.Dir, f.Name), data, 0o600))
		if db, err := bloomdbtest.TryOpen(o); err == nil {
			db.Close()
			t.Fatalf("the copy opens although it ends after %s", f.Name)
		} else if !strings.Contains(err.Error(), "identity is missing") {
			t.Fatalf("after %s: %v", f.Name, err)
		}
		if bloomdb.CheckFolder(o.Dir) == nil {
			t.Fatalf("CheckFolder returned no error after %s", f.Name)
		}
	}
}

// CheckFolder returns the name of each file that Open rejects or sets aside.
func TestCheckFolder(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := populatedOptions(t.TempDir(), "mx1")
	db := openPopulated(t, o, c)
	must(t, db.Save())
	b := mustBackup(t, db)
	dir := t.TempDir()
	writeBackup(t, b, dir)
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		good, err := os.ReadFile(path)
		must(t, err)
		bad := slices.Clone(good)
		bad[len(bad)/2] ^= 4
		if len(bad) > journal.Header || !strings.HasPrefix(e.Name(), "journal-") {
			must(t, os.WriteFile(path, bad, 0o600))
			if err := bloomdb.CheckFolder(dir); (err == nil || !strings.Contains(err.Error(), e.Name())) && !strings.HasPrefix(e.Name(), "journal-") {
				t.Errorf("%s is damaged: %v", e.Name(), err)
			}
		}
		must(t, os.Remove(path))
		_, own := snapshot.ParseOwnPath(e.Name())
		if err := bloomdb.CheckFolder(dir); (err == nil) == (own && !repair.Expendable(e.Name()) || e.Name() == "identity" || strings.HasPrefix(e.Name(), "journal-")) {
			t.Errorf("without %s: %v", e.Name(), err)
		}
		must(t, os.WriteFile(path, good, 0o600))
		must(t, bloomdb.CheckFolder(dir))
	}
}

// Whatever happens while a backup is taken, the backup contains all changes acknowledged before
// it began, and it opens as after a crash.
func TestBackupWhileInUse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "backup")
		must(t, err)
		defer os.RemoveAll(root)
		c := bloomdbtest.NewClock()
		o := populatedOptions(filepath.Join(root, "state"), "mx1")
		o.Now, o.Reports.Capacity = c.Now, 3000
		db, err := bloomdbtest.TryOpen(o)
		must(t, err)
		defer db.Close()
		acknowledged := map[int]bool{} // listed or not
		steps := func(from, n int) {
			for i := range n {
				switch m := from + i; rapid.IntRange(0, 6).Draw(t, "do") {
				case 0:
					must(t, db.Save())
				case 1:
					must(t, db.Revoke(bloomdbtest.Message(m)))
					acknowledged[m] = false
				case 2:
					_, err := db.Never(bloomdbtest.Message(m), "")
					must(t, err)
					acknowledged[m] = false
				case 3:
					must(t, db.Report(bloomdbtest.Message(m), layout.ClassOther))
					_, err := db.Retouch(bloomdbtest.Message(m))
					must(t, err)
					acknowledged[m] = false
				default:
					must(t, db.Report(bloomdbtest.Message(m), layout.ClassOther))
					acknowledged[m] = true
				}
			}
		}
		steps(0, rapid.IntRange(0, 12).Draw(t, "before"))
		before := map[int]bool{}
		for m, want := range acknowledged {
			before[m] = want
		}
		done, quit := make(chan error), make(chan struct{})
		go func() {
			var err error
			for m := 1000; err == nil; m++ {
				select {
				case <-quit:
					done <- nil
					return
				default:
				}
				if err = db.Report(bloomdbtest.Message(m), layout.ClassOther); m%5 == 0 {
					err = errors.Join(err, db.Save())
				}
			}
			done <- err
		}()
		b, err := db.Backup()
		must(t, err)
		steps(100, rapid.IntRange(0, 6).Draw(t, "after"))
		o.Dir = filepath.Join(root, "copy")
		writeBackup(t, b, o.Dir)
		close(quit)
		must(t, <-done)
		must(t, bloomdb.CheckFolder(o.Dir))
		copied, err := bloomdbtest.TryOpen(o)
		must(t, err)
		defer copied.Close()
		must(t, copied.Check())
		for m, want := range before {
			if got := copied.Judge(bloomdbtest.Message(m)).Listed; got != want {
				t.Fatalf("message %d: listed %v, want %v", m, got, want)
			}
		}
	})
}
