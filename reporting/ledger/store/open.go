package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/pagefile"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/salvage"
)

const (
	lockTimeout = 2 * time.Second // for another process that has the file open

	// mapped is the address space reserved for the file, in bytes. It is not memory. A file
	// that outgrows it is mapped again, for which a writer waits for readers.
	mapped = 16 << 30
)

// openFile opens the file after a check, and reports whether one of its two headers is damaged. The library
// would read beyond the end of a file that is cut short, which would end the process.
func openFile(path string, noSync bool, log *slog.Logger) (db *bolt.DB, one bool, err error) {
	options := &bolt.Options{Timeout: lockTimeout, NoSync: noSync, FreelistType: bolt.FreelistMapType, InitialMmapSize: mapped}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := makeFile(path); err != nil {
			return nil, false, err
		}
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, pagefile.ErrNoFile
	default:
		if err := checkLegible(path); err != nil {
			return nil, false, err
		}
	}
	if err == nil && info.Size() > 0 {
		if one, err = checkLength(path, info.Size()); err != nil {
			return nil, one, err
		}
	}
	if one {
		log.Warn("one of two headers of the ledger is damaged, and is written anew; the last report may be missing in it", "path", path)
	}
	db, err = bolt.Open(path, 0o600, options)
	return db, one, named(err)
}

// checkLegible reads the headers of a file. The library maps them, and a page that the disk
// cannot read, or a wrong size of pages, would end the process.
func checkLegible(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", record.ErrDamaged, err)
	}
	defer f.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(f, 2<<16)); err != nil {
		return fmt.Errorf("%w: %w", record.ErrDamaged, err)
	}
	return pagefile.CheckSizes(f)
}

// makeFile makes an empty file. After a crash the whole file exists, or none.
func makeFile(path string) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := bolt.Open(fresh, 0o600, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(db.Sync(), db.Close()); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return folder.Sync(filepath.Dir(path))
}

// checkLength compares the length of a file with its header, and then reads all of it. It
// holds the file's lock.
func checkLength(path string, have int64) (one bool, err error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockTimeout, ReadOnly: true})
	if err != nil {
		return false, named(err)
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		if want := tx.Size(); have < want {
			return fmt.Errorf("%w: cut short, %d bytes of %d", record.ErrDamaged, have, want)
		}
		spare, err := salvage.Check(path)
		one = err == nil && !spare
		return err
	})
	return one, err
}

// named replaces errors of the library with those of the ledger.
func named(err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return errors.New("another process has it open")
	case errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("%w of bbolt, whose format 2 is known", record.ErrVersion)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum):
		return fmt.Errorf("%w: %w", record.ErrDamaged, err)
	}
	return err
}

// begin makes the buckets of a new file, and checks the version of an existing one.
func (s *File) begin() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		if tx.Bucket(buckets.Meta) == nil {
			if name, _ := tx.Cursor().First(); name != nil {
				return fmt.Errorf("%w: it has a bucket %.40q and none %q", record.ErrDamaged, name, buckets.Meta)
			}
			for _, name := range buckets.All {
				if _, err := tx.CreateBucket(name); err != nil {
					return err
				}
			}
			return tx.Bucket(buckets.Meta).Put(buckets.KeyVersion, buckets.VersionValue(buckets.Version))
		}
		if err := buckets.CheckVersion(tx.Bucket(buckets.Meta).Get(buckets.KeyVersion)); err != nil {
			return err
		}
		for _, name := range buckets.All {
			if tx.Bucket(name) == nil {
				return fmt.Errorf("%w: it has no bucket %q", record.ErrDamaged, name)
			}
		}
		return nil
	})
}

// ReplaceFile replaces a damaged file at path with a new one, and keeps the damaged one as
// aside.
func ReplaceFile(path, fresh, aside string) error {
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.Link(path, aside); err != nil { // path is a folder, or the file system has no links
		if err := os.Rename(path, aside); err != nil {
			return err
		}
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return folder.Sync(filepath.Dir(path))
}
