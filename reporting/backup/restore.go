package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/folder"
)

// Folders in the state folder.
const (
	unfinished = "restoring" // a restore that is running, or was interrupted
	restored   = "restored"  // a whole one, before its files are moved up
)

// Restore writes a backup into a state folder that is empty, does not exist, or contains the
// rest of an interrupted restore. When the error is nil, the whole state is on disk. After an
// error of the backup or the disk, and after a crash, the folder is as before, and no daemon
// starts with a part. Errors are those of Read, ErrNotEmpty and bloomdb.ErrLocked.
func Restore(r io.Reader, dir string) (sum Summary, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return sum, fmt.Errorf("state folder: %w", err)
	}
	if err := folder.CheckOwner(dir); err != nil {
		return sum, err
	}
	unlock, err := lock(dir)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := checkEmpty(dir); err != nil {
		return sum, err
	}
	work := filepath.Join(dir, unfinished)
	if err := os.RemoveAll(work); err != nil {
		return sum, fmt.Errorf("state folder: %w", err)
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return sum, fmt.Errorf("state folder: %w", err)
	}
	sum, err = Read(r, work)
	if err == nil {
		err = syncAll(work)
	}
	if err != nil {
		return sum, errors.Join(err, os.RemoveAll(work))
	}
	if err := os.Rename(work, filepath.Join(dir, restored)); err != nil {
		return sum, fmt.Errorf("state folder: %w", err)
	}
	if err := folder.Sync(dir); err != nil {
		return sum, err
	}
	return sum, moveUp(dir)
}

// Finish completes a restore that a crash interrupted when the whole state was on disk. A start
// calls it before it opens the folder. If there was no restore, it does nothing. The error is
// ErrUnfinished if a restore was interrupted earlier or is running, ErrNotEmpty if the restored files
// would replace others, or bloomdb.ErrLocked.
func Finish(dir string) (err error) {
	if err := Check(dir); err != nil {
		return err
	}
	if !IsWaiting(dir) {
		return nil // no restore, or a folder that the start cannot read either
	}
	unlock, err := lock(dir)
	if err != nil {
		return err
	}
	return errors.Join(moveUp(dir), unlock())
}

// IsWaiting reports whether a whole restore is on disk, some of whose files are not in their place. Its
// data was checked; Finish moves it there.
func IsWaiting(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, restored))
	return err == nil
}

// Check returns ErrUnfinished if a restore was interrupted or is running. It returns ErrNotEmpty if a
// restored file also exists in dir: Restore needs an empty folder and moves each file once, so a backup
// was extracted into DIR/restored by hand, beside a state that it must not replace.
func Check(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, unfinished)); err == nil {
		return fmt.Errorf("%w: %s", ErrUnfinished, filepath.Join(dir, unfinished))
	}
	from := filepath.Join(dir, restored)
	entries, _ := os.ReadDir(from) // without the folder, nothing is moved; moveUp reports other errors
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(dir, e.Name())); err == nil {
			return fmt.Errorf("%w: %s is also in %s", ErrNotEmpty, filepath.Join(dir, e.Name()), from)
		}
	}
	return nil
}

// lock locks the folder against daemons and other restores.
func lock(dir string) (unlock func() error, err error) {
	l := folder.NewLock(dir)
	ok, err := l.TryLock()
	if err == nil && !ok {
		err = bloomdb.ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("state folder %s: %w", dir, err)
	}
	return l.Unlock, nil
}

// checkEmpty returns an error with the first name in the folder that is neither from a restore
// nor from a new file system.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	for _, e := range entries {
		switch e.Name() {
		case "lock", "lost+found", unfinished:
		default:
			return fmt.Errorf("%w: %s", ErrNotEmpty, filepath.Join(dir, e.Name()))
		}
	}
	return nil
}

// moveUp moves the restored files into the state folder, durably. After an interruption a second
// call continues.
func moveUp(dir string) error {
	from := filepath.Join(dir, restored)
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		err = errors.Join(err, os.Rename(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())))
	}
	if err == nil {
		err = folder.Sync(dir)
	}
	if err == nil {
		err = os.Remove(from)
	}
	if err == nil {
		err = folder.Sync(dir)
	}
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// syncAll syncs all files and folders below a folder to disk.
func syncAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return folder.Sync(path)
	})
}
