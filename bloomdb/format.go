package bloomdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// ErrNewer is wrapped by the error for a file or record whose version, or whose kind, is
// newer than this program. It is never damage: nothing sets such a file aside, and Repair
// refuses it.
var ErrNewer = filter.ErrNewer

// newer is the error for a version that is higher than the one that is read.
func newer(version, reads int) error {
	return fmt.Errorf("newer format (version %d; this program reads %d), %w", version, reads, ErrNewer)
}

// fileForm is how a binary file of the state folder begins: magic, version, id of the
// federation key, CRC32C of these. The head is the same in every version (FORMAT.md), so
// that a checksum proves the version.
type fileForm struct {
	name    string // of the content, in errors
	magic   string // 8 bytes
	version uint16
}

const fileHead = 8 + 2 + 8 + 4

// begin is the head, to which the content is appended.
func (f fileForm) begin(keyID [8]byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte(f.magic), f.version)
	return seal(append(b, keyID[:]...))
}

// check compares the head of a file with that of this version and key. Of a newer version
// it returns an error that wraps ErrNewer.
func (f fileForm) check(data []byte, keyID [8]byte) error {
	const end = fileHead - 4
	switch {
	case len(data) < fileHead:
		return errors.New("file is cut short")
	case string(data[:8]) != f.magic:
		return fmt.Errorf("no %s: wrong magic", f.name)
	case crc32.Checksum(data[:end], castagnoli) != binary.BigEndian.Uint32(data[end:]):
		return errors.New("checksum of the head is wrong")
	}
	switch v := binary.BigEndian.Uint16(data[8:]); {
	case v > f.version:
		return newer(int(v), int(f.version))
	case v != f.version:
		return fmt.Errorf("%s version %d, this program reads %d", f.name, v, f.version)
	case [8]byte(data[10:]) != keyID:
		return fmt.Errorf("made under federation key %x, the key given is %x", data[10:18], keyID)
	}
	return nil
}

// fileForms are those of all binary files.
var fileForms = []fileForm{journalForm, snapshotForm, segmentsForm.fileForm, maskForm.fileForm,
	neverForm.fileForm, ownVotesForm.fileForm, clockForm.fileForm}

// refuseNewer returns an error that wraps ErrNewer and names the first file of a state
// folder that a newer version made. It comes before anything in the folder is set aside,
// repaired or removed.
func refuseNewer(dir string, forms []fileForm) error {
	folders, err := keyFolders(dir)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if _, err := readIdentity(folder); errors.Is(err, ErrNewer) {
			return err
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // the loader names it
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), damagedSuffix) {
				continue
			}
			if err := checkNewer(filepath.Join(folder, e.Name()), forms); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNewer returns an error only for a file of a newer version: the loader names what
// else is wrong with it.
func checkNewer(path string, forms []fileForm) error {
	file, _, err := openLegible(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var head [fileHead]byte
	if _, err := io.ReadFull(file, head[:]); err != nil {
		return nil
	}
	for _, f := range forms {
		if err := f.check(head[:], [8]byte{}); errors.Is(err, ErrNewer) {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// writeChecked writes bytes and their CRC32C.
func writeChecked(w io.Writer, b []byte) error {
	_, err := w.Write(seal(b))
	return err
}

func trailing(rest []byte) error {
	if len(rest) == 0 {
		return nil
	}
	return fmt.Errorf("%d bytes too many", len(rest))
}
