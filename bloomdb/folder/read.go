package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A file that cannot be read is damaged: the disk has a fault, or the path is not a file.
// Missing permission is not damage: its owner or mode has to be corrected.

// errNoFile is the fault of a path that is a folder, a pipe or a device.
var errNoFile = errors.New("not a regular file")

// errNoTarget is the fault of a link to a file that is missing. It does not wrap fs.ErrNotExist: the
// link is there, and is set aside.
var errNoTarget = errors.New("a link to a missing file")

// OpenFile opens a file of the state folder for reading. It never blocks. A fault is a
// *DamageError, unless the file is missing or this process lacks permission.
func OpenFile(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // without O_NONBLOCK, opening a pipe would wait for a writer
	if err != nil {
		return nil, nil, readError(path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		f.Close()
		return nil, nil, readError(path, err)
	}
	return f, info, nil
}

// readError turns a read error into a *DamageError, with the exceptions of OpenFile.
func readError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if _, missing := os.Lstat(path); missing == nil {
			return Damaged(path, 0, errNoTarget)
		}
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return Damaged(path, 0, err)
}

// ReadFile reads a whole file. Its errors are those of OpenFile.
func ReadFile(path string) ([]byte, error) {
	f, _, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return data, readError(path, err)
}

// ReadBounded reads a whole file of at most most bytes. A longer file is damaged. Its errors
// are those of OpenFile.
func ReadBounded(path string, most int64) ([]byte, error) {
	f, info, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > most {
		return nil, Damaged(path, most, fmt.Errorf("file has %d bytes, must be at most %d", info.Size(), most))
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	return data, readError(path, err)
}

// salvageStep is the number of bytes that a repair reads at a time.
const salvageStep = 4096

// Salvage reads a damaged file as far as possible. Unreadable bytes are zero. It returns
// fs.ErrPermission if this process lacks permission.
func Salvage(path string) ([]byte, error) {
	f, info, err := OpenFile(path)
	var damage *DamageError
	if errors.As(err, &damage) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return salvageFrom(f, info.Size()), nil
}

func salvageFrom(r io.ReaderAt, size int64) []byte {
	data := make([]byte, size)
	for at := int64(0); at < size; at += salvageStep {
		piece := data[at:min(at+salvageStep, size)]
		if n, err := r.ReadAt(piece, at); err != nil && err != io.EOF {
			clear(piece[n:])
		}
	}
	return data
}
