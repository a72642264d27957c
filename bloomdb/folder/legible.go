package folder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A file that cannot be read is damage: by a fault of the disk, or as something else stands
// in its place. A file that may not be read is not: its owner or mode has to be put right.

// errNoFile is the fault of a folder, a pipe or a device in the place of a file.
var errNoFile = errors.New("it is no regular file")

// OpenLegible opens a file of the state folder for reading. It never waits. A fault is a
// *DamageError, unless the file is missing or this process has no permission.
func OpenLegible(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // of a pipe it would wait for a writer
	if err != nil {
		return nil, nil, illegible(path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		f.Close()
		return nil, nil, illegible(path, err)
	}
	return f, info, nil
}

// illegible is the error of a file that cannot be read.
func illegible(path string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return Damaged(path, 0, err)
}

// ReadLegible reads a file whole. Errors are those of OpenLegible.
func ReadLegible(path string) ([]byte, error) {
	f, _, err := OpenLegible(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return data, illegible(path, err)
}

// legibleStep is how much of a file is read at once for a repair.
const legibleStep = 4096

// Salvage reads what can be read of a damaged file, with zeros in the place of the rest. It
// returns fs.ErrPermission if this process may not read it.
func Salvage(path string) ([]byte, error) {
	f, info, err := OpenLegible(path)
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
	for at := int64(0); at < size; at += legibleStep {
		piece := data[at:min(at+legibleStep, size)]
		if n, err := r.ReadAt(piece, at); err != nil && err != io.EOF {
			clear(piece[n:])
		}
	}
	return data
}
