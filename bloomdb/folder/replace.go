package folder

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// SyncDir makes renames and new files in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}

// CutFile shortens a file, durably.
func CutFile(f interface {
	Truncate(size int64) error
	Sync() error
}, size int64) error {
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Sync()
}

// KeepDamaged keeps a damaged file under its other name, while it is replaced.
func KeepDamaged(path string) error {
	aside := path + DamagedSuffix
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(path, aside); err != nil { // of a folder, or where the file system has no links
		return os.Rename(path, aside)
	}
	return nil
}

// LeaveMark makes an empty NAME.damaged for a missing file.
func LeaveMark(path string) error {
	aside, err := os.OpenFile(path+DamagedSuffix, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(aside.Close(), SyncDir(filepath.Dir(path)))
}

// Damage is contained. A damaged file whose loss costs recall only is set aside: it is
// renamed to NAME.damaged, the database opens without it, and Status lists it until an
// administrator removes it. Damage to this site's own reports refuses the start; Repair
// restores what snapshots, the journal and the ledger of reports still hold.

// DamagedSuffix ends the name of a file that was set aside.
const DamagedSuffix = ".damaged"

// WriteSnapshot replaces the file at path at once: temporary file, fsync,
// rename, fsync of the folder.
func WriteSnapshot(path string, encode func(w io.Writer) error) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o600))
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	defer f.Cleanup()
	w := bufio.NewWriterSize(f, 1<<20)
	if err = encode(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	return SyncDir(filepath.Dir(path))
}

// Saved tells whether a snapshot file on disk still says what memory says:
// it is written again only when this has changed.
type Saved struct {
	Changes   int64  // own filters: changes since the start, plus one
	Seq, Gaps uint64 // other sites: the cursor
	Sections  int
}

// Pending is a snapshot that may have to be written.
type Pending struct {
	Path  string
	State Saved
	Write func(w io.Writer) error
}

func CutPath(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(CutFile(f, size), f.Close())
}

// ReadBounded reads a file of at most so many bytes. A longer one is damage.
func ReadBounded(path string, most int64) ([]byte, error) {
	f, info, err := OpenLegible(path)
	if err != nil {
		return nil, fmt.Errorf("votes: %w", err)
	}
	defer f.Close()
	if info.Size() > most {
		return nil, Damaged(path, most, fmt.Errorf("it has %d bytes, must be at most %d", info.Size(), most))
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, fmt.Errorf("votes: %w", illegible(path, err))
	}
	return data, nil
}
