package ledger

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
)

const (
	lockTimeout = 2 * time.Second // for who else has the file open

	// mapped is the address space set aside for the file, so that it need not be
	// mapped anew, for which a writer would wait for readers. It is not memory.
	mapped = 16 << 30
)

// openFile opens the file after a look at its length: of one that was cut short the
// library would read beyond the end, and the process would die of it.
func openFile(path string, noSync bool, log *slog.Logger) (*bolt.DB, error) {
	options := &bolt.Options{Timeout: lockTimeout, NoSync: noSync, FreelistType: bolt.FreelistMapType, InitialMmapSize: mapped}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := makeFile(path); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNoFile
	default:
		if err := checkLegible(path); err != nil {
			return nil, err
		}
	}
	if err == nil && info.Size() > 0 {
		if err := checkLength(path, info.Size(), log); err != nil {
			return nil, err
		}
	}
	db, err := bolt.Open(path, 0o600, options)
	return db, named(err)
}

// errNoFile is the error of a folder, a pipe or a device in the place of the file.
var errNoFile = fmt.Errorf("%w: it is no regular file", ErrDamaged)

// checkLegible reads the headers of a file. The library maps them: of a page that the disk
// cannot read, the process would die.
func checkLegible(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer f.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(f, 2<<16)); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// makeFile makes an empty file. After a crash it is there as a whole, or not at all.
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
	return syncDir(filepath.Dir(path))
}

// checkLength compares the length of a file with what its header says of it, and then
// reads all of it. The lock is held meanwhile.
func checkLength(path string, have int64, log *slog.Logger) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockTimeout, ReadOnly: true})
	if err != nil {
		return named(err)
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		if want := tx.Size(); have < want {
			return fmt.Errorf("%w: cut short, %d bytes of %d", ErrDamaged, have, want)
		}
		spare, err := sound(path)
		if err == nil && !spare {
			log.Warn("one of two headers of the ledger is damaged, and is written anew; the last report may be missing in it", "path", path)
		}
		return err
	})
}

// named says in our words what the library says of a file.
func named(err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return errors.New("another process has it open")
	case errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("%w of bbolt, whose format 2 is known", ErrVersion)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// begin makes the buckets of a new file, and checks the version of another.
func (s *store) begin() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketMeta) == nil {
			if name, _ := tx.Cursor().First(); name != nil {
				return fmt.Errorf("%w: it has a bucket %.40q and none %q", ErrDamaged, name, bucketMeta)
			}
			for _, name := range buckets {
				if _, err := tx.CreateBucket(name); err != nil {
					return err
				}
			}
			return tx.Bucket(bucketMeta).Put(keyVersion, versionValue(version))
		}
		if err := checkVersion(tx.Bucket(bucketMeta).Get(keyVersion)); err != nil {
			return err
		}
		for _, name := range buckets {
			if tx.Bucket(name) == nil {
				return fmt.Errorf("%w: it has no bucket %q", ErrDamaged, name)
			}
		}
		return nil
	})
}

// replaceFile puts a file in the place of a damaged one, which is kept.
func replaceFile(path, fresh, aside string) error {
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(path, aside); err != nil { // of a folder, or where the file system has no links
		if err := os.Rename(path, aside); err != nil {
			return err
		}
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes names in a folder durable.
func syncDir(folder string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
