package folder

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// Sync writes a file, or the names in a folder, to disk. New and renamed files are durable only
// when their folder is synced, too.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// CutFile shortens a file and syncs it.
func CutFile(f interface {
	Truncate(size int64) error
	Sync() error
}, size int64) error {
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Sync()
}

// KeepDamaged keeps a copy of a damaged file as NAME.damaged. The caller then replaces the file.
func KeepDamaged(path string) error {
	aside := path + DamagedSuffix
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.Link(path, aside); err != nil { // path is a folder, or the file system has no links
		return os.Rename(path, aside)
	}
	return nil
}

// SetAside renames a damaged file to NAME.damaged. An earlier one is replaced, also if it is a folder,
// or path is.
func SetAside(path string) error {
	aside := path + DamagedSuffix
	if err := os.Rename(path, aside); err == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(aside), os.Rename(path, aside))
}

// LeaveMark creates an empty NAME.damaged for a missing file. An earlier one, of any kind, is mark enough.
func LeaveMark(path string) error {
	aside, err := os.OpenFile(path+DamagedSuffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(aside.Close(), Sync(filepath.Dir(path)))
}

// Damage is contained. If the loss of a damaged file costs no own reports, the file is set
// aside: it is renamed to NAME.damaged, the database opens without it, and Status lists it
// until an administrator removes it. If own reports are damaged, Open fails. Repair then
// restores what snapshots, the journal and the ledger of reports still contain.

// DamagedSuffix ends the name of a file that was set aside.
const DamagedSuffix = ".damaged"

// WriteSnapshot replaces the file at path atomically: temporary file, fsync, rename, fsync of
// the folder.
func WriteSnapshot(path string, encode func(w io.Writer) error) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o600))
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	defer f.Cleanup()
	w := bufio.NewWriterSize(f, 64<<10)
	if err = encode(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	return Sync(filepath.Dir(path))
}

// Saved identifies the state of a snapshot file on disk. The file is written again only when
// the state has changed.
type Saved struct {
	Changes   int64  // own filters: changes since the start, plus one
	Seq, Gaps uint64 // other sites: the cursor
	Sections  int
	United    int // epochs that were joined with this one since the start
}

// Pending is a snapshot and how to write it.
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

// IsFull reports whether a write failed because there is no room: on the disk, or in the quota of a user,
// a dataset or an export.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// room is what a disk must have for another write to be expected to succeed: more than a report
// or a transaction of many takes.
const room = 1 << 20

// CheckRoom writes a file of one MiB to a folder and removes it. It returns the error of a disk
// that takes a few bytes, but not the next report.
func CheckRoom(dir string) error {
	f, err := os.CreateTemp(dir, ".room-")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil { // first: a crash leaves nothing
		return err
	}
	if _, err := f.Write(make([]byte, room)); err != nil {
		return fmt.Errorf("less than %d MiB of room: %w", room>>20, err)
	}
	return f.Sync()
}
