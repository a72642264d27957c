package mailbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

var (
	errReplaced = errors.New("not the same file any more")
	errLeadsOut = errors.New("the link leads out of a folder that others may write to; name its target")
)

// lookUp returns what a name is. Links of other users than this one and root are not followed, and
// their pipes and devices are not read.
func lookUp(name string) (fs.FileInfo, error) {
	info, err := os.Lstat(filepath.Clean(name)) // a slash at the end would follow the link
	if err != nil {
		return nil, at(name, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if !isTrusted(info) {
			return nil, fmt.Errorf("%s: it is a link of another user (%d); name its target", name, ownerOf(info))
		}
		if info, err = os.Stat(name); err != nil {
			return nil, err
		}
	}
	if !info.IsDir() && !info.Mode().IsRegular() && !isTrusted(info) {
		return nil, fmt.Errorf("%s: it is no file, and belongs to another user (%d)", name, ownerOf(info))
	}
	return info, nil
}

// OpenNames opens a file that names what is to be read. Another user, who could name what only the
// reader may read, must not have written it.
func OpenNames(name string) (*os.File, error) {
	info, err := lookUp(name)
	switch {
	case err != nil:
		return nil, err
	case !isTrusted(info):
		return nil, fmt.Errorf("%s: it belongs to another user (%d), who would choose the files that are read; copy it", name, ownerOf(info))
	}
	return openFile(name, info)
}

// openFile opens what lookUp found.
func openFile(name string, found fs.FileInfo) (*os.File, error) {
	flags := os.O_RDONLY
	if found.Mode().IsRegular() {
		flags |= syscall.O_NONBLOCK // it may be replaced by a pipe before it is opened
	}
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return nil, err
	}
	if err := isStill(f, found); err != nil {
		f.Close()
		return nil, named(name, err)
	}
	return f, nil
}

// isTrusted reports whether a file belongs to this user or to root.
func isTrusted(info fs.FileInfo) bool { return ownerOf(info) == 0 || ownerOf(info) == os.Geteuid() }

// ownerOf returns the user of a file; root's number where files have none.
func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return 0
}

// isStill returns an error if an open file is not the one that its name was before.
func isStill(f *os.File, before fs.FileInfo) error {
	info, err := f.Stat()
	if err == nil && before.Mode().IsRegular() && !os.SameFile(info, before) {
		err = errReplaced
	}
	return err
}

func isRootStill(root *os.Root, before fs.FileInfo) error {
	info, err := root.Stat(".")
	if err == nil && !os.SameFile(info, before) {
		err = errReplaced
	}
	return err
}

// openEntry opens an entry of a folder for reading. It does not wait for a pipe.
func openEntry(root *os.Root, path string, entry fs.DirEntry) (*os.File, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err == nil || entry.Type()&fs.ModeSymlink == 0 {
		return f, err
	}
	return openOutside(root, path)
}

// openOutside opens what a link outside of a folder leads to, if nobody else could have placed the
// link. It is opened by the handle of its folder, whose owner was checked.
func openOutside(root *os.Root, path string) (*os.File, error) {
	dir, err := root.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Stat()
	if err != nil {
		return nil, err
	}
	if ownerOf(info) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return nil, errLeadsOut
	}
	fd, err := unix.Openat(int(dir.Fd()), filepath.Base(path), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// at returns an error about a name, in place of one about its path below a folder.
func at(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	op := "open"
	if errors.Is(err, fs.ErrNotExist) {
		op = "stat"
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
