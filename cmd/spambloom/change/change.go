// Package change is a file that a verb is about to change: read, shown as a diff, and
// replaced whole, with its owner and mode. It does not decide what is changed, and asks
// nobody.
package change

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// maxFile bounds a file in bytes.
const maxFile = 1 << 20

// File is one file, before and after.
type File struct {
	Path     string
	Old, New []byte
	IsNew    bool // it does not exist yet
	Mode     fs.FileMode

	target   string // Path without symbolic links
	uid, gid int    // -1: those of the process
}

// Read reads a file, or prepares one that does not exist, with mode 0644. New is set to Old.
func Read(path string) (*File, error) {
	f := &File{Path: path, target: path, uid: -1, gid: -1, Mode: 0o644}
	r, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		f.IsNew = true
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if f.Old, err = io.ReadAll(io.LimitReader(r, maxFile+1)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(f.Old) > maxFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxFile)
	}
	if f.target, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		f.uid, f.gid = int(owner.Uid), int(owner.Gid)
	}
	f.Mode, f.New = info.Mode().Perm(), bytes.Clone(f.Old)
	return f, nil
}

// OwnLike gives a new file the owner of another one, if the process may do that.
func (f *File) OwnLike(path string) {
	if uid, gid, ok := Owner(path); ok && f.IsNew && os.Geteuid() == 0 {
		f.uid, f.gid = uid, gid
	}
}

// GroupLike gives the file the group of another one. It returns false if this process may not.
func (f *File) GroupLike(path string) bool {
	_, gid, ok := Owner(path)
	if !ok || os.Geteuid() != 0 {
		return false
	}
	f.gid = gid
	return true
}

// Owner returns the owner of a file.
func Owner(path string) (uid, gid int, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return -1, -1, false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1, false
	}
	return int(owner.Uid), int(owner.Gid), true
}

// IsChanged reports whether New differs.
func (f *File) IsChanged() bool { return f.IsNew && len(f.New) > 0 || !bytes.Equal(f.Old, f.New) }

// Write replaces the file. It appears complete or not at all.
func (f *File) Write() error {
	temp, err := renameio.NewPendingFile(f.target, renameio.WithPermissions(f.Mode), renameio.IgnoreUmask())
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	defer temp.Cleanup()
	if _, err := temp.Write(f.New); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if f.uid >= 0 && (f.uid != os.Geteuid() || f.gid != os.Getegid()) {
		if err := temp.Chown(f.uid, f.gid); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	if err := temp.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return nil
}
