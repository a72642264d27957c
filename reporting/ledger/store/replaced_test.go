package store

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/buckets"
)

// A backup was extracted over the folder of a running daemon, or the file was removed. Nothing is
// acknowledged that would be written into a file without a name.
func TestReplacedFileIsNotWritten(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			data, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "reports.db")
			s, err := Open(path, true, slog.New(slog.DiscardHandler))
			testenv.Check(t, err)
			put := func() error {
				return s.Commit(func(tx *bolt.Tx) (refused, err error) {
					return nil, tx.Bucket(buckets.Due).Put([]byte("12345678"), nil)
				})
			}
			testenv.Check(t, put())
			testenv.Check(t, replace(path))
			if err := put(); !errors.Is(err, errReplaced) || s.Fault() == nil {
				t.Errorf("%v, fault %v", err, s.Fault())
			}
			testenv.Check(t, s.Close())
		})
	}
}
