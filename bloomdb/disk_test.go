package bloomdb_test

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/journal"
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
