package bloomdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// sealedForm is the form of a file that is small enough to be read whole: magic,
// version, id of the federation key, content, CRC32C of all that (FORMAT.md).
type sealedForm struct {
	name    string // of its content, in errors
	magic   string // 8 bytes
	version byte
	most    int // bytes of content
}

const sealedHeader = 8 + 2 + 8

// begin is the header, to which the content is appended.
func (f sealedForm) begin(keyID [8]byte) []byte {
	b := append([]byte(f.magic), 0, f.version)
	return append(b, keyID[:]...)
}

// seal appends the checksum.
func seal(b []byte) []byte { return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)) }

// read reads a file. One byte too many is enough for open to refuse it.
func (f sealedForm) read(path string) ([]byte, error) {
	file, _, err := openLegible(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, int64(sealedHeader+f.most+4+1)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, illegible(path, err))
	}
	return data, nil
}

// open checks a file's bytes and returns the content.
func (f sealedForm) open(data []byte, keyID [8]byte) ([]byte, error) {
	end := len(data) - 4
	switch {
	case end > sealedHeader+f.most:
		return nil, fmt.Errorf("it has more than %d bytes", sealedHeader+f.most+4)
	case end < sealedHeader:
		return nil, errors.New("file is cut short")
	case string(data[:8]) != f.magic:
		return nil, fmt.Errorf("no %s: wrong magic", f.name)
	case binary.BigEndian.Uint16(data[8:]) != uint16(f.version):
		return nil, fmt.Errorf("%s version %d, this program reads %d", f.name, binary.BigEndian.Uint16(data[8:]), f.version)
	case crc32.Checksum(data[:end], castagnoli) != binary.BigEndian.Uint32(data[end:]):
		return nil, errors.New("checksum is wrong")
	case [8]byte(data[10:]) != keyID:
		return nil, fmt.Errorf("made under federation key %x, the key given is %x", data[10:18], keyID)
	}
	return data[sealedHeader:end], nil
}
