package bloomdb

import (
	"os"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// While one report waits for its fsync, another one's write fails and gives the
// segment up: what was not synced is not acknowledged.
func TestRepairDuringSync(t *testing.T) {
	dir, keyID := t.TempDir(), [8]byte{1}
	j, err := openJournal(dir, keyID, make(map[uint32]int64), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	add := func(n uint64) lsn {
		at, err := j.append(record{target: target{spamFilter, 2931}, hashes: []filter.Hash{{n, n, n, n}}})
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	first := add(1)
	if err := j.sync(first); err != nil {
		t.Fatal(err)
	}
	j.done(first)
	at := add(2)
	j.syncMu.Lock() // as sync does, up to the moment in which the disk works
	j.mu.Lock()
	if err := j.buf.Flush(); err != nil {
		t.Fatal(err)
	}
	j.fail(os.ErrInvalid)
	if err := j.repair(); err != nil {
		t.Fatal(err)
	}
	j.mu.Unlock()
	j.syncMu.Unlock()
	if err := j.sync(at); err == nil {
		t.Error("a record that was cut off was acknowledged")
	}
	j.done(at)
	last := add(3)
	if err := j.sync(last); err != nil {
		t.Fatal(err)
	}
	j.done(last)
	segments := j.durable()
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	held := make(map[uint64]bool)
	for n := range segments {
		_, _, err := readSegment(segmentPath(dir, n), keyID, false, 0, func(_ int64, r record) error {
			held[r.hashes[0][0]] = true
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
