package folder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/layout"
)

// FileForm is the head of a binary file of the state folder: magic, version, id of the
// federation key, and CRC32C of these. The head is the same in every version
// (bloomdb/FORMAT.md), so a version can be trusted once the checksum is right.
type FileForm struct {
	Name    string // of the content, for errors
	Magic   string // 8 bytes
	Version uint16
}

const FileHead = 8 + 2 + 8 + 4

// Begin returns the head, to which the content is appended.
func (f FileForm) Begin(keyID [8]byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte(f.Magic), f.Version)
	return Seal(append(b, keyID[:]...))
}

// Check compares the head of a file with this version and key. For a newer version it
// returns an error that wraps ErrNewer.
func (f FileForm) Check(data []byte, keyID [8]byte) error {
	const end = FileHead - 4
	switch {
	case len(data) < FileHead:
		return errors.New("file is cut short")
	case string(data[:8]) != f.Magic:
		return fmt.Errorf("no %s: wrong magic", f.Name)
	case crc32.Checksum(data[:end], Castagnoli) != binary.BigEndian.Uint32(data[end:]):
		return errors.New("checksum of the head is wrong")
	}
	switch v := binary.BigEndian.Uint16(data[8:]); {
	case v > f.Version:
		return layout.Newer(int(v), int(f.Version))
	case v != f.Version:
		return fmt.Errorf("%s version %d, this program reads %d", f.Name, v, f.Version)
	case [8]byte(data[10:]) != keyID:
		return fmt.Errorf("made under federation key %x, the configured key is %x", data[10:18], keyID)
	}
	return nil
}

// RefuseNewer returns an error that wraps ErrNewer and names the first file in a state folder
// that was written by a newer version. The caller checks this before it sets aside, repairs
// or removes any file.
func RefuseNewer(dir string, forms []FileForm) error {
	folders, err := KeyFolders(dir)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if _, err := ReadIdentity(folder); errors.Is(err, layout.ErrNewer) {
			return err
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // the loader reports it
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), DamagedSuffix) {
				continue
			}
			if err := checkNewer(filepath.Join(folder, e.Name()), forms); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNewer returns an error only for a file of a newer version. The loader reports all other
// faults.
func checkNewer(path string, forms []FileForm) error {
	head, err := ReadHead(path)
	if err != nil {
		return nil
	}
	for _, f := range forms {
		if err := f.Check(head[:], [8]byte{}); errors.Is(err, layout.ErrNewer) {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}
