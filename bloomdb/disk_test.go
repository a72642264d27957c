package bloomdb_test

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// brokenFolders are the folders in which the journal cannot be written.
var brokenFolders sync.Map

// testFile is a segment's file that fails if its folder is broken.
type testFile struct{ *os.File }

func newTestFile(path string) (journal.SegmentFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	return testFile{f}, err
}

func (f testFile) isBroken() bool {
	_, broken := brokenFolders.Load(filepath.Dir(f.Name()))
	return broken
}

func (f testFile) Write(b []byte) (int, error) {
	if f.isBroken() {
		return 0, syscall.EBADF
	}
	return f.File.Write(b)
}

func (f testFile) Truncate(size int64) error {
	if f.isBroken() {
		return syscall.EINVAL
	}
	return f.File.Truncate(size)
}

// breakable returns options with which breakDisk has an effect.
func breakable(o bloomdb.Options) bloomdb.Options {
	o.WriteJournalTo(newTestFile)
	return o
}

// breakDisk makes all writes to the journal fail, as on a full disk, until the returned
// function is called.
func breakDisk(t *testing.T, db *bloomdb.DB) (mend func()) {
	t.Helper()
	brokenFolders.Store(db.Keyspace().Settings.Dir, true)
	mend = func() { brokenFolders.Delete(db.Keyspace().Settings.Dir) }
	t.Cleanup(mend)
	return mend
}

// A snapshot that cannot be written is a fault until it is, also between the attempts, one a minute.
// Reports go on, and are found after a crash.
func TestUnsavedUntilSaved(t *testing.T) {
	c, o := bloomdbtest.NewClock(), bloomdbtest.Options(t.TempDir(), "mx1")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	testenv.Check(t, db.Save())
	paths, err := filepath.Glob(filepath.Join(o.Dir, "spam-*.snapshot"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	testenv.Check(t, os.Remove(paths[0]))
	testenv.Check(t, os.MkdirAll(filepath.Join(paths[0], "in the way"), 0o700))
	for i, wait := range []time.Duration{11 * time.Minute, time.Second, time.Minute} {
		bloomdbtest.Report(t, db, 2+i)
		c.Add(wait)
		if err := db.Maintain(); err == nil || db.Unsaved() == nil || db.Fault() != nil {
			t.Errorf("after %v: %v, unsaved %v, journal %v", wait, err, db.Unsaved(), db.Fault())
		}
	}
	testenv.Check(t, os.RemoveAll(paths[0]))
	c.Add(time.Minute)
	testenv.Check(t, db.Maintain())
	if err := db.Unsaved(); err != nil {
		t.Error(err)
	}
	crash(t, db)
	if db := bloomdbtest.Open(t, o); !db.Judge(bloomdbtest.Message(4)).Listed {
		t.Error("a report made meanwhile is lost")
	}
}
