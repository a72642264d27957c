package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// Read writes the files of a backup into an empty folder, and checks each of them as at a
// start. After an error, the folder contains some useless files. The error wraps ErrBackup if
// the stream is wrong. Otherwise it is that of a damaged file (*bloomdb.DamageError,
// ledger.ErrDamaged), of the reader or of the disk.
func Read(r io.Reader, dir string) (Summary, error) {
	x := &extraction{tar: tar.NewReader(bufio.NewReaderSize(r, 1<<20)), dir: dir}
	if err := x.all(); err != nil {
		return x.sum, err
	}
	contents, err := ledger.CheckFile(filepath.Join(dir, ledgerName))
	if err = errors.Join(bloomdb.CheckFolder(dir), err); err != nil {
		return x.sum, fmt.Errorf("backup: %w", err)
	}
	x.sum.Reports, x.sum.Reporters = contents.Reports, contents.Reporters
	return x.sum, nil
}

// MayReplace returns an error if a new backup must not take the place of a file: it is neither empty nor does it
// begin as a backup, or path is in the state folder of a site. The file may be missing.
func MayReplace(path string) error {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	for d := dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := os.Stat(folder.NewLock(d).Path()); err == nil && folder.HasState(d) { // an extracted backup has no lock
			return fmt.Errorf("%s is in the state folder %s", path, d)
		}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a plain file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	begin := make([]byte, len(headName)+1) // the name in a member's header ends with a 0
	if _, err := io.ReadFull(f, begin); err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if info.Size() > 0 && string(begin) != headName+"\x00" {
		return fmt.Errorf("%s exists and is no backup", path)
	}
	return nil
}

// extraction is the state of one Read.
type extraction struct {
	tar  *tar.Reader
	dir  string
	sum  Summary
	list bytes.Buffer // of the members so far, in the form of the last member
}

// all reads the members. The head is the first, the list the last.
func (x *extraction) all() error {
	name, content, err := x.next()
	switch {
	case err == io.EOF, err == nil && name != headName, errors.Is(err, ErrBackup):
		return fmt.Errorf("%w: it does not begin as one", ErrBackup)
	case err != nil:
		return err
	}
	if err := x.head(content); err != nil {
		return err
	}
	for {
		name, content, err := x.next()
		switch {
		case err == io.EOF:
			return fmt.Errorf("%w: it is cut off after %d files", ErrBackup, x.sum.Files)
		case err != nil:
			return err
		case name == listName:
			return x.end(content)
		case x.sum.Files == maxFiles:
			return fmt.Errorf("%w: over %d files", ErrBackup, maxFiles)
		}
		if err := x.file(name, content); err != nil {
			return err
		}
	}
}

// next begins a member. It accepts only plain files, and no form in which a small archive makes
// a large file.
func (x *extraction) next() (name string, content io.Reader, err error) {
	h, err := x.tar.Next()
	if err == io.EOF {
		return "", nil, err
	}
	if err != nil {
		return "", nil, faultOf(err)
	}
	if h.Typeflag != tar.TypeReg {
		return "", nil, fmt.Errorf("%w: %.100q is not a plain file", ErrBackup, h.Name)
	}
	for key := range h.PAXRecords {
		if key != "size" {
			return "", nil, fmt.Errorf("%w: %.100q has a header %.40q", ErrBackup, h.Name, key)
		}
	}
	return h.Name, x.tar, checkName(h.Name)
}

// faultOf wraps an error of the archive in ErrBackup. Other errors of the reader are not changed.
func faultOf(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it is cut off", ErrBackup)
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong), errors.Is(err, tar.ErrInsecurePath):
		return fmt.Errorf("%w: %w", ErrBackup, err)
	}
	return err
}

func (x *extraction) head(content io.Reader) error {
	data, err := readBounded(headName, content, maxHead)
	if err != nil {
		return err
	}
	x.note(headName, int64(len(data)), crc32.Checksum(data, folder.Castagnoli))
	if err := json.Unmarshal(data, &x.sum.Head); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrBackup, headName, err)
	}
	switch v := x.sum.Version; {
	case v > version:
		return fmt.Errorf("%w that this program reads: it is of version %d, made by a newer program, %.40q", ErrBackup, v, x.sum.Program)
	case v < 1 || !bloomdb.ValidSite(x.sum.Site):
		return fmt.Errorf("%w: version %d, site %.40q", ErrBackup, v, x.sum.Site)
	}
	return nil
}

func readBounded(name string, content io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(content, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, faultOf(err))
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%w: %s has over %d bytes", ErrBackup, name, most)
	}
	return data, nil
}

func (x *extraction) note(name string, size int64, sum uint32) {
	fmt.Fprintf(&x.list, "%08x %d %s\n", sum, size, name)
}

// file writes one file. A name may occur only once.
func (x *extraction) file(name string, content io.Reader) (err error) {
	path := filepath.Join(x.dir, filepath.FromSlash(name))
	var f *os.File
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) {
		return fmt.Errorf("%w: %s comes twice", ErrBackup, name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := crc32.New(folder.Castagnoli)
	n, err := io.Copy(io.MultiWriter(f, sum), content)
	if err != nil {
		return fmt.Errorf("%s: %w", name, faultOf(err))
	}
	x.note(name, n, sum.Sum32())
	x.sum.Files++
	x.sum.Bytes += n
	return nil
}

// end compares the list with the members. The error names the first file that differs.
func (x *extraction) end(content io.Reader) error {
	list, err := readBounded(listName, content, maxList)
	if err != nil {
		return err
	}
	if !bytes.Equal(list, x.list.Bytes()) {
		said := strings.Split(string(list), "\n")
		for i, line := range strings.Split(x.list.String(), "\n") {
			if i >= len(said) || said[i] != line {
				return fmt.Errorf("%w: it is damaged: read %q, and %s says otherwise", ErrBackup, line, listName)
			}
		}
		return fmt.Errorf("%w: %s names more files than there are", ErrBackup, listName)
	}
	if _, _, err := x.next(); err != io.EOF {
		return fmt.Errorf("%w: something follows %s", ErrBackup, listName)
	}
	return nil
}
