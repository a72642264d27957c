package folder

import (
	"bytes"
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

// OpenBounded opens a file of at most most bytes and returns its length. A longer file is damaged: the
// length on disk may be wrong, so nothing is read, and no memory is taken for it. Its errors are those
// of OpenFile.
func OpenBounded(path string, most int64) (f *os.File, size int64, err error) {
	f, info, err := OpenFile(path)
	if err != nil {
		return nil, 0, err
	}
	if size = info.Size(); size > most {
		f.Close()
		return nil, 0, Damaged(path, most, fmt.Errorf("file has %d bytes, must be at most %d", size, most))
	}
	return f, size, nil
}

// ReadBounded reads a whole file of at most most bytes. Its errors are those of OpenBounded.
func ReadBounded(path string, most int64) ([]byte, error) {
	f, _, err := OpenBounded(path, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	return data, readError(path, err)
}

// ReadHead reads the head of a file. Its errors are those of OpenFile, or of a file that is shorter.
func ReadHead(path string) (head [FileHead]byte, err error) {
	f, _, err := OpenFile(path)
	if err != nil {
		return head, err
	}
	defer f.Close()
	_, err = io.ReadFull(f, head[:])
	return head, err
}

const (
	salvageStep  = 4096    // bytes that a repair reads at a time
	salvageZeros = 1 << 17 // zeros that a repair reads behind the last other byte: more than a record or block has
)

// Salvage reads a damaged file as far as possible, at most most bytes of it, which is the length that
// an undamaged one can have. Unreadable bytes are zero. rest is the number of bytes that it leaves out: what
// is longer, and zeros at the end, so that a file whose length is damaged takes little memory. It returns
// fs.ErrPermission if this process lacks permission.
func Salvage(path string, most int64) (data []byte, rest int64, err error) {
	f, info, err := OpenFile(path)
	var damage *DamageError
	if errors.As(err, &damage) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	data = salvageFrom(f, min(info.Size(), most))
	return data, info.Size() - int64(len(data)), nil
}

func salvageFrom(r io.ReaderAt, size int64) (data []byte) {
	var buffer, none [salvageStep]byte
	zeros := int64(0)
	for at := int64(0); at < size; at += salvageStep {
		piece := buffer[:min(salvageStep, size-at)]
		n, _ := r.ReadAt(piece, at)
		clear(piece[n:])
		if bytes.Equal(piece, none[:len(piece)]) {
			zeros += int64(len(piece))
			continue
		}
		data = append(append(data, make([]byte, zeros)...), piece...)
		zeros = 0
	}
	return append(data, make([]byte, min(zeros, salvageZeros))...)
}
