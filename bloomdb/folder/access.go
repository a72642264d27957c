package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// NewLock returns the lock of a state folder against a second daemon, repair or restore. Taking it does
// not wait, even if a pipe has its name.
func NewLock(dir string) *flock.Flock {
	return flock.New(filepath.Join(dir, "lock"), flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK))
}

// CheckAccess returns an error if the process may not write to a state folder, or may not
// make it if it does not exist. It changes nothing. If the folder is not one, the error wraps
// fs.ErrExist.
func CheckAccess(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkParent(dir)
	case err != nil:
		return fmt.Errorf("state folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("state folder %s: %w and is no folder", dir, fs.ErrExist)
	}
	if err := unix.Access(dir, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("state folder %s: %w", dir, err)
	}
	// As root, the check is made for a daemon that runs as another user.
	self := os.Geteuid()
	if self == 0 {
		self = ownerOf(info)
	}
	return checkOwner(dir, info, self)
}

// CheckOwner returns an error if another user than root and this one may replace the files of a state
// folder: keys and reports would be theirs, and links in place of files would write elsewhere.
func CheckOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	return checkOwner(dir, info, os.Geteuid())
}

func checkOwner(dir string, info fs.FileInfo, self int) error {
	owner := ownerOf(info)
	switch {
	case owner != 0 && owner != self:
		return fmt.Errorf("state folder %s: %w: it belongs to user %d, who could replace its files; run as that user, or use another folder", dir, ErrNotOwn, owner)
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Errorf("state folder %s: %w: every user could replace its files (mode %04o); chmod o-w, or use a folder below it", dir, ErrNotOwn, info.Mode().Perm())
	}
	return nil
}

// ErrNotOwn is wrapped if other users may change the state folder.
var ErrNotOwn = errors.New("not safe from other users")

// ownerOf returns the user of a file; root's number where files have none.
func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return 0
}

// checkParent checks the nearest folder that exists above a missing one.
func checkParent(dir string) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	for path = filepath.Dir(path); path != "/"; path = filepath.Dir(path) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err := unix.Access(path, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("state folder %s cannot be made in %s: %w", dir, path, err)
	}
	return nil
}
