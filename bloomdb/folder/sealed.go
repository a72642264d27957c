package folder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// SealedForm is the form of a file that is read as a whole: head, content, and CRC32C of both
// (bloomdb/FORMAT.md).
type SealedForm struct {
	FileForm
	Most int // bytes of content
}

// Seal appends the CRC32C of b.
func Seal(b []byte) []byte { return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, Castagnoli)) }

// Load reads and decodes a file. A failure of decode is a *DamageError, unless it wraps ErrNewer.
func (f SealedForm) Load(path string, decode func(data []byte) error) error {
	file, _, err := OpenFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer file.Close()
	// With one byte more than allowed, Open rejects a file that is too long.
	data, err := io.ReadAll(io.LimitReader(file, int64(FileHead+f.Most+4+1)))
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, readError(path, err))
	}
	if err := decode(data); err != nil {
		return Damaged(path, 0, err)
	}
	return nil
}

// Open verifies a file and returns its content.
func (f SealedForm) Open(data []byte, keyID [8]byte) ([]byte, error) {
	end := len(data) - 4
	if err := f.Check(data, keyID); err != nil {
		return nil, err
	}
	switch {
	case end > FileHead+f.Most:
		return nil, fmt.Errorf("file has more than %d bytes", FileHead+f.Most+4)
	case end < FileHead:
		return nil, errors.New("file is cut short")
	case crc32.Checksum(data[:end], Castagnoli) != binary.BigEndian.Uint32(data[end:]):
		return nil, errors.New("checksum is wrong")
	}
	return data[FileHead:end], nil
}

// GenerationFiles are the names of files of which each generation has one.
type GenerationFiles struct{ Prefix, Suffix string }

func (f GenerationFiles) Path(dir string, gen int64) string {
	return filepath.Join(dir, fmt.Sprintf("%s%d%s", f.Prefix, gen, f.Suffix))
}

// Parse is the inverse of Path. It reports whether name is such a file's.
func (f GenerationFiles) Parse(name string) (gen int64, ok bool) {
	name, begins := strings.CutPrefix(name, f.Prefix)
	name, ends := strings.CutSuffix(name, f.Suffix)
	gen, err := strconv.ParseInt(name, 10, 64)
	return gen, begins && ends && err == nil
}
