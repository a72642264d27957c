package journal

import (
	"os"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// While one report waits for its turn at the disk, another one's write fails and abandons the segment:
// unsynced records are not acknowledged.
func TestRepairDuringSync(t *testing.T) {
	dir, keyID := t.TempDir(), [8]byte{1}
	j, err := Open(dir, keyID, make(map[uint32]int64), 0, nil)
	testenv.Check(t, err)
	add := func(n uint64) folder.LSN {
		at, err := j.Append(Record{Target: layout.Target{Kind: layout.SpamFilter, Gen: 2931}, Hashes: []filter.Hash{{n, n, n, n}}})
		testenv.Check(t, err)
		return at
	}
	first := add(1)
	testenv.Check(t, j.Sync(first))
	j.Done(first)
	at := add(2)
	j.diskMu.Lock() // as Sync does, up to the moment in which the disk fails
	j.mu.Lock()
	_, err = j.file.Write(j.tail)
	testenv.Check(t, err)
	j.fail(os.ErrInvalid)
	testenv.Check(t, j.repair())
	j.mu.Unlock()
	j.diskMu.Unlock()
	if err := j.Sync(at); err == nil {
		t.Error("a record that was cut off was acknowledged")
	}
	j.Done(at)
	last := add(3)
	testenv.Check(t, j.Sync(last))
	j.Done(last)
	segments := j.Durable()
	testenv.Check(t, j.Close())
	held := make(map[uint64]bool)
	for n := range segments {
		_, _, err := ReadSegment(SegmentPath(dir, n), keyID, false, 0, func(_ int64, r Record) error {
			held[r.Hashes[0][0]] = true
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if !held[1] || !held[3] {
		t.Error("an acknowledged report is lost")
	}
}
