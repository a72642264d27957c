package journal

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// watchedFile is a segment that calls asked at the beginning of each method. It returns what asked does.
type watchedFile struct {
	SegmentFile
	asked func() error
}

func (f watchedFile) Write(p []byte) (int, error) {
	if err := f.asked(); err != nil {
		return 0, err
	}
	return f.SegmentFile.Write(p)
}

func (f watchedFile) Sync() error {
	if err := f.asked(); err != nil {
		return err
	}
	return f.SegmentFile.Sync()
}

func (f watchedFile) Truncate(size int64) error {
	_ = f.asked()
	return f.SegmentFile.Truncate(size)
}

func (f watchedFile) Close() error {
	_ = f.asked()
	return f.SegmentFile.Close()
}

// openWatched opens a journal whose files are watched.
func openWatched(t *testing.T, asked func() error) *Log {
	j, err := Open(t.TempDir(), [8]byte{1}, make(map[uint32]int64), 0, func(path string) (SegmentFile, error) {
		f, err := createFile(path)
		return watchedFile{f, func() error { return asked() }}, err
	})
	testenv.Check(t, err)
	return j
}

func add(j *Log, n uint64) (folder.LSN, error) {
	at, err := j.Append(Record{Target: layout.Target{Kind: layout.SpamFilter, Gen: 2931}, Hashes: []filter.Hash{{n, n, n, n}}})
	if err == nil {
		j.Done(at)
	}
	return at, err
}

// A frozen disk keeps no message from being judged: whatever a caller asks of the disk, others append and ask
// for the fault meanwhile.
func TestFrozenDisk(t *testing.T) {
	var j *Log
	var asked int
	var broken bool // the next write fails
	j = openWatched(t, func() error {
		asked++
		if j == nil {
			return nil // it is opened
		}
		if !j.mu.TryLock() {
			t.Fatal("the disk is asked while mu is held")
		}
		j.mu.Unlock()
		if broken {
			broken = false
			return os.ErrInvalid
		}
		_, _ = add(j, 1) // fails during a fault
		return nil
	})
	each := func(what string, f func() error) {
		before := asked
		if err := f(); err != nil || asked == before {
			t.Errorf("%s: %v, and the disk was asked %d times", what, err, asked-before)
		}
	}
	rotate := func() error {
		_, err := j.Rotate()
		return err
	}
	each("flush", func() error {
		_, err := add(j, 2)
		testenv.Check(t, err)
		return j.Flush()
	})
	each("sync", func() error {
		at, err := add(j, 2)
		testenv.Check(t, err)
		return j.Sync(at)
	})
	each("rotate", rotate)
	for what, repair := range map[string]func() error{"flush": j.Flush, "ready": j.Ready, "rotate": rotate} {
		_, err := add(j, 3)
		testenv.Check(t, err)
		broken = true
		if err := j.Flush(); err == nil || j.LastFault() == nil {
			t.Fatalf("a failed write is no fault: %v", err)
		}
		each(what+" after a fault", repair)
		if err := j.LastFault(); err != nil || !j.SnapshotDue() {
			t.Errorf("after %s: %v", what, err)
		}
	}
	testenv.Check(t, j.Close())
}

// While the disk takes nothing, what is counted takes bounded memory, and a snapshot gets the rest.
func TestFrozenDiskTakesNoMemory(t *testing.T) {
	var j *Log
	var refused error
	j = openWatched(t, func() error {
		for n := uint64(0); j != nil && refused == nil && n < 2*maxTail/32; n++ {
			_, refused = add(j, n)
		}
		return nil
	})
	at, err := add(j, 1)
	testenv.Check(t, err)
	testenv.Check(t, j.Sync(at))
	if refused == nil || j.LastFault() != nil || !j.SnapshotDue() || len(j.tail) > maxTail+MaxRecord {
		t.Fatalf("refused with %v, fault %v, snapshot due %v, %d bytes", refused, j.LastFault(), j.SnapshotDue(), len(j.tail))
	}
	testenv.Check(t, j.Flush())
	if at, err = add(j, 2); err != nil || j.Sync(at) != nil {
		t.Errorf("after the freeze: %v", err)
	}
	testenv.Check(t, j.Close())
}

// A disk that does not answer is named after half a minute, and until it answers.
func TestFrozenDiskIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j *Log
		var frozen bool
		j = openWatched(t, func() error {
			if !frozen {
				return nil
			}
			frozen = false
			time.Sleep(patience)
			if err := j.LastFault(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
			if err := j.LastFault(); err == nil || !strings.HasSuffix(err.Error(), "the disk has not answered for 31s") {
				t.Errorf("after 31 s: %v", err)
			}
			return nil
		})
		at, err := add(j, 1)
		testenv.Check(t, err)
		frozen = true
		testenv.Check(t, j.Sync(at))
		testenv.Check(t, j.LastFault())
		testenv.Check(t, j.Close())
	})
}
