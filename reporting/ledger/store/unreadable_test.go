package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

const pageSize = 4096

// freelistOf returns the place of the list of free pages.
func freelistOf(data []byte) int64 {
	header := func(page int) []byte { return data[page*pageSize+16:] }
	newest := slices.MaxFunc([][]byte{header(0), header(1)}, func(a, b []byte) int {
		return int(binary.NativeEndian.Uint64(a[48:])) - int(binary.NativeEndian.Uint64(b[48:]))
	})
	return int64(binary.NativeEndian.Uint64(newest[32:])) * pageSize
}

// A page that the disk cannot read, here one behind the end of a file that was cut short, fails the
// call that needs it and does not end the process. It works again once the page can be read.
func TestUnreadablePage(t *testing.T) {
	if os.Getpagesize() != pageSize {
		t.Skip("another size of pages")
	}
	for name, all := range map[string]bool{"the last pages": false, "the list of free pages, too": true} {
		path := filepath.Join(t.TempDir(), "reports.db")
		s, err := Open(path, true, slog.New(slog.DiscardHandler))
		testenv.Check(t, err)
		key := func(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
		put := func(n, size int) error {
			return s.Commit(func(tx *bolt.Tx) (refused, err error) {
				return nil, tx.Bucket(buckets.Due).Put(key(n), make([]byte, size))
			})
		}
		get := func() error {
			return s.View(func(tx *bolt.Tx) error {
				return tx.Bucket(buckets.Due).ForEach(func(_, v []byte) error { _ = bytes.Clone(v); return nil })
			})
		}
		testenv.Check(t, errors.Join(put(1, 200_000), put(1, 100), put(2, 3000), put(3, 100), put(9, 500_000), put(1, 101)))
		data, err := os.ReadFile(path)
		testenv.Check(t, err)
		cut := freelistOf(data)
		if !all {
			cut += pageSize
		}
		if cut > int64(len(data))-300_000 {
			t.Fatalf("the list of free pages is at %d of %d", cut, len(data))
		}
		testenv.Check(t, os.Truncate(path, cut))
		for what, err := range map[string]error{"view": get(), "check": s.Check(), "commit": s.Commit(func(tx *bolt.Tx) (refused, err error) {
			_ = bytes.Clone(tx.Bucket(buckets.Due).Get(key(9)))
			return nil, nil
		})} {
			if !errors.Is(err, record.ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if err := s.Fault(); err == nil || !strings.Contains(err.Error(), "run spambloomd --repair") {
			t.Errorf("%s: fault %v", name, err)
		}
		testenv.Check(t, os.WriteFile(path, data, 0o600))
		testenv.Check(t, get())
		if err := put(4, 10); all != (err != nil) {
			t.Errorf("%s: readable again: %v", name, err)
		}
		if err := s.Fault(); err == nil || !strings.Contains(err.Error(), "run spambloomd --repair") {
			t.Errorf("%s: fault after a transaction that succeeded: %v", name, err)
		}
		testenv.Check(t, s.Close())
	}
}
