package never

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

const neverExactSize = 1 + 32

var Form = folder.SealedForm{FileForm: folder.FileForm{Name: "never-list", Magic: "SBNEVER\n", Version: 1},
	Most: 9 + 8 + 1 + mostNote + 2 + journal.MaxKeys*neverExactSize + 1 + mostSketches*(1+1+2+8*MostKeys)}

// Path returns the path of an entry's file.
func Path(dir string, name layout.ShortID) string {
	return filepath.Join(dir, fmt.Sprintf("never-%d-%x", name.Kind, name.ID))
}

// IsPath reports whether a file of the folder belongs to the never-list.
func IsPath(name string) bool {
	return strings.HasPrefix(name, "never-") && !strings.HasSuffix(name, folder.DamagedSuffix)
}

// Write writes the file of an entry durably. The file appears complete or not at all.
func Write(dir string, keyID [8]byte, e *Entry) error {
	path := Path(dir, e.Name)
	if err := renameio.WriteFile(path, Encode(keyID, e), 0o600, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("never-list: %s: %w", path, err)
	}
	return folder.Sync(dir)
}

func Encode(keyID [8]byte, e *Entry) []byte {
	b := append(Form.Begin(keyID), byte(e.Name.Kind))
	b = append(b, e.Name.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.At))
	b = append(b, byte(len(e.Note)))
	b = append(b, e.Note...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(e.Exact)))
	for _, s := range e.Exact {
		hash := s.Hash.Bytes()
		b = append(append(b, byte(s.Kind)), hash[:]...)
	}
	b = append(b, byte(len(e.Sketches)))
	for _, s := range e.Sketches {
		all := byte(0)
		if s.All {
			all = 1
		}
		b = append(b, byte(s.Kind), all)
		b = binary.BigEndian.AppendUint16(b, uint16(len(s.Keys)))
		for _, key := range s.Keys {
			b = binary.BigEndian.AppendUint64(b, key)
		}
	}
	return folder.Seal(b)
}

// Read reads the file of an entry. Damage is a *DamageError.
func Read(path string, keyID [8]byte) (e *Entry, err error) {
	err = Form.Load(path, func(data []byte) (err error) {
		e, err = decodeNever(data, keyID)
		if err == nil && Path(filepath.Dir(path), e.Name) != path {
			err = fmt.Errorf("it belongs to %s", e.Name)
		}
		return err
	})
	return e, err
}

func decodeNever(data []byte, keyID [8]byte) (*Entry, error) {
	body, err := Form.Open(data, keyID)
	if err != nil {
		return nil, err
	}
	e, err := decodeNeverEntry(bytes.NewBuffer(body))
	if err != nil {
		return nil, err
	}
	return e, CheckNote(e.Note)
}

var errNeverCut = errors.New("entry is cut short")

// decodeNeverEntry decodes the content of a file.
func decodeNeverEntry(b *bytes.Buffer) (*Entry, error) {
	fixed := b.Next(1 + 8 + 8 + 1)
	if len(fixed) < 18 {
		return nil, errNeverCut
	}
	e := &Entry{Name: layout.ShortID{Kind: signature.Kind(fixed[0]), ID: [8]byte(fixed[1:])}, At: int64(binary.BigEndian.Uint64(fixed[9:]))}
	note := b.Next(int(fixed[17]))
	count := b.Next(2)
	if len(note) < int(fixed[17]) || len(count) < 2 {
		return nil, errNeverCut
	}
	e.Note = string(note)
	n := int(binary.BigEndian.Uint16(count))
	if n == 0 || n > journal.MaxKeys {
		return nil, fmt.Errorf("%d signatures, must be 1 to %d", n, journal.MaxKeys)
	}
	exact := b.Next(n * neverExactSize)
	if len(exact) < n*neverExactSize {
		return nil, errNeverCut
	}
	for s := range slices.Chunk(exact, neverExactSize) {
		e.Exact = append(e.Exact, Signature{signature.Kind(s[0]), filter.HashBytes([32]byte(s[1:]))})
	}
	if err := decodeNeverSketches(b, e); err != nil {
		return nil, err
	}
	if b.Len() > 0 {
		return nil, fmt.Errorf("%d bytes follow the entry", b.Len())
	}
	return e, nil
}

func decodeNeverSketches(b *bytes.Buffer, e *Entry) error {
	count, err := b.ReadByte()
	if err != nil {
		return errNeverCut
	}
	if count > mostSketches {
		return fmt.Errorf("%d sketches, must be at most %d", count, mostSketches)
	}
	for range count {
		head := b.Next(4)
		if len(head) < 4 {
			return errNeverCut
		}
		s := Sketch{Kind: signature.Kind(head[0]), All: head[1] == 1}
		n := int(binary.BigEndian.Uint16(head[2:]))
		keys := b.Next(8 * n)
		switch {
		case head[1] > 1:
			return fmt.Errorf("sketch flag %d, must be 0 or 1", head[1])
		case n == 0 || n > MostKeys:
			return fmt.Errorf("sketch of %d keys, must be 1 to %d", n, MostKeys)
		case len(keys) < 8*n:
			return errNeverCut
		}
		for key := range slices.Chunk(keys, 8) {
			s.Keys = append(s.Keys, binary.BigEndian.Uint64(key))
			if i := len(s.Keys) - 1; s.Keys[i]>>63 == 1 || i > 0 && s.Keys[i] <= s.Keys[i-1] {
				return fmt.Errorf("key %d of a sketch is %#x, must ascend and be below 2^63", i+1, s.Keys[i])
			}
		}
		e.Sketches = append(e.Sketches, s)
	}
	return nil
}

// IsID reports whether a name has the form of an entry's id.
func IsID(name string) bool {
	kind, id, ok := strings.Cut(name, ":")
	_, err := signature.ParseKind(kind)
	_, bad := hex.DecodeString(id)
	return ok && err == nil && bad == nil && len(id) == 16
}
