package bloomdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sealedForm is the form of a file that is small enough to be read whole: head, content,
// CRC32C of both (FORMAT.md).
type sealedForm struct {
	fileForm
	most int // bytes of content
}

// seal appends the checksum.
func seal(b []byte) []byte { return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)) }

// load reads a file and has it decoded. What decode refuses is a *DamageError, unless it
// is newer.
func (f sealedForm) load(path string, decode func(data []byte) error) error {
	file, _, err := openLegible(path)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	defer file.Close()
	// One byte too many is enough for open to refuse it.
	data, err := io.ReadAll(io.LimitReader(file, int64(fileHead+f.most+4+1)))
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, illegible(path, err))
	}
	if err := decode(data); err != nil {
		return damaged(path, 0, err)
	}
	return nil
}

// open checks a file's bytes and returns the content.
func (f sealedForm) open(data []byte, keyID [8]byte) ([]byte, error) {
	end := len(data) - 4
	if err := f.check(data, keyID); err != nil {
		return nil, err
	}
	switch {
	case end > fileHead+f.most:
		return nil, fmt.Errorf("it has more than %d bytes", fileHead+f.most+4)
	case end < fileHead:
		return nil, errors.New("file is cut short")
	case crc32.Checksum(data[:end], castagnoli) != binary.BigEndian.Uint32(data[end:]):
		return nil, errors.New("checksum is wrong")
	}
	return data[fileHead:end], nil
}

// generationFiles name files of which there is one for each generation.
type generationFiles struct{ prefix, suffix string }

func (f generationFiles) path(dir string, gen int64) string {
	return filepath.Join(dir, fmt.Sprintf("%s%d%s", f.prefix, gen, f.suffix))
}

// parse is the inverse of path.
func (f generationFiles) parse(name string) (gen int64, ok bool) {
	name, begins := strings.CutPrefix(name, f.prefix)
	name, ends := strings.CutSuffix(name, f.suffix)
	gen, err := strconv.ParseInt(name, 10, 64)
	return gen, begins && ends && err == nil
}

// loadGenerations has the files among a folder's entries loaded. It passes over those that
// the identity does not name: they were being written at a crash, or a program that does
// not know them had the folder since.
func (fl *fileSet) loadGenerations(f generationFiles, entries []os.DirEntry, named []string, load func(path string, gen int64) error) error {
	for _, e := range entries {
		gen, ok := f.parse(e.Name())
		if !ok {
			continue
		}
		path := f.path(fl.opt.Dir, gen)
		fl.saved[path] = savedState{} // on disk, and to be written again or removed
		if !slices.Contains(named, e.Name()) {
			continue
		}
		if err := load(path, gen); err != nil {
			if err := fl.contain(err); err != nil {
				return err
			}
		}
	}
	return nil
}
