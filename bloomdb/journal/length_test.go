package journal

import (
	"errors"
	"os"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A segment takes no more records when it is full. A snapshot is due then, with which the next one begins.
func TestFullSegment(t *testing.T) {
	j := openWatched(t, func() error { return nil })
	if _, err := add(j, 1); err != nil {
		t.Fatal(err)
	}
	testenv.Check(t, j.Flush())
	j.offset, j.onDisk = MaxSegment-maxTail, MaxSegment-maxTail
	if _, err := add(j, 2); err != nil || j.SnapshotDue() {
		t.Fatalf("before it is full: %v", err)
	}
	if _, err := add(j, 3); err == nil || !j.SnapshotDue() {
		t.Fatalf("full: %v, snapshot due %v", err, j.SnapshotDue())
	}
	if _, err := j.Rotate(); err != nil {
		t.Fatal(err)
	}
	if _, err := add(j, 4); err != nil {
		t.Errorf("in the next one: %v", err)
	}
	testenv.Check(t, j.Close())
}

// Zeros at the end of the last segment are of a crash, up to what a crash can leave. More of them, in any other
// segment, or where the list has them on disk, are damage.
func TestLengthenedSegment(t *testing.T) {
	j := openWatched(t, func() error { return nil })
	for n := range uint64(3) {
		if _, err := add(j, n); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Check(t, j.Close())
	path, records := SegmentPath(j.dir, 1), j.onDisk
	for name, c := range map[string]struct {
		length, least int64
		last, damaged bool
	}{
		"as written":             {records, records, true, false},
		"not the last one":       {records, records, false, false},
		"a page of zeros":        {records + 4096, records, true, false},
		"a page, not the last":   {records + 4096, records, false, true},
		"a page that was synced": {records + 4096, records + 4096, true, true},
		"what a crash can leave": {records + maxTorn, 0, true, false},
		"more than that":         {records + maxTorn + 1, 0, true, true},
		"the longest":            {MaxSegment, 0, true, true},
		"longer than any":        {64 << 30, 0, true, true},
	} {
		testenv.Check(t, os.Truncate(path, c.length))
		read := 0
		size, tail, err := ReadSegment(path, j.KeyID, c.last, c.least, func(int64, Record) error { read++; return nil })
		var damage *folder.DamageError
		if errors.As(err, &damage) != c.damaged || !c.damaged && (size != records || tail != c.length-records || read != 3) {
			t.Errorf("%s: %d records in %d bytes and %d more: %v", name, read, size, tail, err)
		}
		testenv.Check(t, os.Truncate(path, records))
	}
}
