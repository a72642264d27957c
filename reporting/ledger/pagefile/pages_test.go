package pagefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// Only the pages that the disk cannot read are lost.
func TestUnreadablePage(t *testing.T) {
	good := filled(t)
	page := int64(os.Getpagesize())
	readAll := func(unreadable int64) (records int, faults []error) {
		r := &reader{file: failingFile{bytes.NewReader(good), unreadable * page, page}, size: int64(len(good)), Reader: Reader{
			Lenient: true,
			Fault:   func(err error) bool { faults = append(faults, err); return true },
			Take:    func(string, buckets.Pair) { records++ },
			Bucket:  func(string, uint64) {},
			Orphans: func(list []buckets.Pair, _ Age) { records += len(list) },
		}}
		var err error
		if r.meta, _, err = r.header(); err != nil {
			t.Fatal(err)
		}
		r.reached = make([]bool, r.meta.pages)
		r.tree(r.meta.root, "", 0, keyRange{})
		r.rescue(r.reached, unknownAge)
		return records, faults
	}
	failed := 0
	for id := int64(2); id < int64(len(good))/page; id++ {
		records, faults := readAll(id)
		if records == 0 {
			t.Errorf("without page %d nothing can be read", id)
		}
		if len(faults) > 0 {
			failed++
		}
		for _, err := range faults {
			if !errors.Is(err, record.ErrDamaged) {
				t.Error(err)
			}
		}
	}
	if failed == 0 {
		t.Error("no unreadable page was reported")
	}
}

// filled returns the path of a file with a bucket of many pages.
func filled(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	testenv.Check(t, err)
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket(buckets.Names)
		for i := range uint32(2000) {
			err = errors.Join(err, b.Put(binary.BigEndian.AppendUint32(nil, i), []byte("anna@example.org")))
		}
		return err
	})
	testenv.Check(t, errors.Join(err, db.Close()))
	data, err := os.ReadFile(path)
	testenv.Check(t, err)
	return data
}

// failingFile fails to read one page.
type failingFile struct {
	*bytes.Reader
	from, size int64
}

func (f failingFile) ReadAt(b []byte, at int64) (int, error) {
	if at < f.from+f.size && at+int64(len(b)) > f.from {
		return 0, syscall.EIO
	}
	return f.Reader.ReadAt(b, at)
}

// countingFile counts its reads, and fails those at and behind broken, unless it is 0.
type countingFile struct {
	size   int64
	broken int64
	reads  []int64
}

func (f *countingFile) ReadAt(p []byte, at int64) (int, error) {
	f.reads = append(f.reads, at)
	if f.broken > 0 && at+int64(len(p)) > f.broken {
		return 0, syscall.EIO
	}
	n := min(int64(len(p)), f.size-at)
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// A file is read ahead from its beginning to its end in pieces of 1 MiB, up to what the disk cannot read.
func TestReadAhead(t *testing.T) {
	for _, c := range []struct {
		size, broken int64
		want         []int64
	}{
		{0, 0, nil},
		{16 << 10, 0, []int64{0}},
		{1 << 20, 0, []int64{0}},
		{2<<20 + 4096, 0, []int64{0, 1 << 20, 2 << 20}},
		{9 << 20, 1<<20 + 4096, []int64{0, 1 << 20}},
	} {
		f := &countingFile{size: c.size, broken: c.broken}
		readAhead(f, c.size)
		if !slices.Equal(f.reads, c.want) {
			t.Errorf("%d bytes, broken at %d: read at %d, want %d", c.size, c.broken, f.reads, c.want)
		}
	}
}
