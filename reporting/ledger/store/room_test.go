package store

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/buckets"
)

// After a transaction for which there was no room, a smaller one that succeeds does not end the
// fault: the next report could not be written. Room does.
func TestFaultLastsWithoutRoom(t *testing.T) {
	dir := testenv.SmallDisk(t, "8m")
	s, err := Open(filepath.Join(dir, "reports.db"), false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(size int) error {
		return s.Commit(func(tx *bolt.Tx) (refused, err error) {
			return nil, tx.Bucket(buckets.Due).Put([]byte("12345678"), make([]byte, size))
		})
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 7<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := put(2 << 20); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("on a full disk: %v", err)
	}
	if err := os.Truncate(filler, 7<<20-64<<10); err != nil {
		t.Fatal(err)
	}
	if err := put(8); err != nil {
		t.Fatalf("a small transaction: %v", err)
	}
	if err := s.Flush(); err != nil || s.Fault() == nil || !strings.Contains(s.Fault().Error(), "less than 1 MiB of room: ") {
		t.Errorf("after small transactions: %v, and the fault is %v", err, s.Fault())
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil || s.Fault() != nil {
		t.Errorf("with room: %v, and the fault is %v", err, s.Fault())
	}
}
