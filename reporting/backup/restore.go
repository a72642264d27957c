package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/spambloom/spambloom/bloomdb"
)

// Folders in the state folder.
const (
	unfinished = "restoring" // a restore that is at work, or was cut off
	restored   = "restored"  // a whole one, whose files are to be moved up
)

// Restore writes a backup into a state folder, which is empty or not there, or holds what
// a restore left that was cut off. When it returns nil, all of it is on disk. After an
// error of the backup or the disk, and after a crash, the folder is as before, and no
// daemon starts with a part. Errors: those of Read; ErrNotEmpty, bloomdb.ErrLocked.
func Restore(r io.Reader, dir string) (sum Summary, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return sum, fmt.Errorf("state folder: %w", err)
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
	if err := sync(dir); err != nil {
		return sum, err
	}
	return sum, moveUp(dir)
}

// Finish ends a restore that a crash cut off when all of it was on disk: a start calls it
// before it opens the folder. Where there was none, it does nothing. ErrUnfinished where
// one was cut off earlier, or is at work; bloomdb.ErrLocked.
func Finish(dir string) (err error) {
	if _, err := os.Lstat(filepath.Join(dir, unfinished)); err == nil {
		return fmt.Errorf("%w: %s", ErrUnfinished, filepath.Join(dir, unfinished))
	}
	if _, err := os.Lstat(filepath.Join(dir, restored)); err != nil {
		return nil // none, or a folder that the start cannot read either
	}
	unlock, err := lock(dir)
	if err != nil {
		return err
	}
	return errors.Join(moveUp(dir), unlock())
}

// lock keeps daemons and other restores from the folder.
func lock(dir string) (unlock func() error, err error) {
	l := flock.New(filepath.Join(dir, "lock"))
	ok, err := l.TryLock()
	if err == nil && !ok {
		err = bloomdb.ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("state folder %s: %w", dir, err)
	}
	return l.Unlock, nil
}

// checkEmpty names what is in the folder that no restore has left, nor a new file system.
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

// moveUp moves what was restored into the state folder, durably. A second call goes on
// where the first one was cut off.
func moveUp(dir string) error {
	from := filepath.Join(dir, restored)
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		err = errors.Join(err, os.Rename(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())))
	}
	if err == nil {
		err = sync(dir)
	}
	if err == nil {
		err = os.Remove(from)
	}
	if err == nil {
		err = sync(dir)
	}
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// syncAll brings all files and folders below a folder to disk.
func syncAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return sync(path)
	})
}

func sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
