package journal

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// openAfter opens a journal with a number of older segments without records.
func openAfter(t *testing.T, number int) *Log {
	older := make(map[uint32]int64)
	for n := range uint32(number) {
		older[n+1] = Header
	}
	j, err := Open(t.TempDir(), [8]byte{1}, older, 0, nil)
	testenv.Check(t, err)
	t.Cleanup(func() { testenv.Check(t, j.Close()) })
	return j
}

func rotate(t *testing.T, j *Log) folder.LSN {
	t.Helper()
	at, err := j.Rotate()
	testenv.Check(t, err)
	return at
}

// A snapshot begins the next segment, unless the current one has no record, or there are many. Then its place
// is behind the records that it contains.
func TestNextSegment(t *testing.T) {
	for name, c := range map[string]struct {
		older, records int
		offset         int64 // of the end; 0: that of the records
		want           folder.LSN
	}{
		"no record":            {older: 0, want: folder.MakeLSN(1, Header)},
		"a record":             {older: 0, records: 1, want: folder.MakeLSN(2, Header)},
		"many but one":         {older: ManySegments - 2, records: 1, want: folder.MakeLSN(ManySegments, Header)},
		"many":                 {older: ManySegments - 1, records: 1, want: folder.MakeLSN(ManySegments, Header+44)},
		"many, and two":        {older: ManySegments - 1, records: 2, want: folder.MakeLSN(ManySegments, Header+88)},
		"many, and a long one": {older: ManySegments - 1, records: 1, offset: longSegment, want: folder.MakeLSN(ManySegments+1, Header)},
	} {
		j := openAfter(t, c.older)
		for n := range c.records {
			_, err := add(j, uint64(n))
			testenv.Check(t, err)
		}
		if c.offset > 0 {
			testenv.Check(t, j.Flush())
			j.offset, j.onDisk = c.offset, c.offset
		}
		for range 2 { // without a record between, the place is the same
			if at := rotate(t, j); at != c.want {
				t.Errorf("%s: %d at %d, want %d at %d", name, at.Segment(), uint64(at)&(1<<40-1), c.want.Segment(), uint64(c.want)&(1<<40-1))
			}
		}
	}
}

// A journal with as many segments as the list takes is opened, and takes snapshots. The oldest are not listed.
func TestFullList(t *testing.T) {
	j := openAfter(t, maxSegments)
	_, err := add(j, 1)
	testenv.Check(t, err)
	rotate(t, j)
	listed, err := ReadSegments(j.dir, j.KeyID)
	testenv.Check(t, err)
	_, oldest := listed[1]
	_, newest := listed[maxSegments+1]
	if len(listed) != maxSegments || oldest || !newest {
		t.Errorf("%d are listed, the oldest %v, the newest %v", len(listed), oldest, newest)
	}
}
