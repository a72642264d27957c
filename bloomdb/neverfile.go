package bloomdb

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

const neverExactSize = 1 + 32

var neverForm = sealedForm{fileForm: fileForm{"never-list", "SBNEVER\n", 1},
	most: 9 + 8 + 1 + maxNeverNote + 2 + maxKeys*neverExactSize + 1 + maxNeverSketches*(1+1+2+8*maxNeverKeys)}

// neverPath names the file of an entry after its kind and id.
func neverPath(dir string, name shortID) string {
	return filepath.Join(dir, fmt.Sprintf("never-%d-%x", name.kind, name.id))
}

// isNeverPath tells the files of the never-list from others of the folder.
func isNeverPath(name string) bool {
	return strings.HasPrefix(name, "never-") && !strings.HasSuffix(name, damagedSuffix)
}

// writeNever makes an entry durable. The file appears whole or not at all.
func writeNever(dir string, keyID [8]byte, e *neverEntry) error {
	path := neverPath(dir, e.name)
	if err := renameio.WriteFile(path, encodeNever(keyID, e), 0o600, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("never-list: %s: %w", path, err)
	}
	return syncDir(dir)
}

func encodeNever(keyID [8]byte, e *neverEntry) []byte {
	b := append(neverForm.begin(keyID), byte(e.name.kind))
	b = append(b, e.name.id[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.at))
	b = append(b, byte(len(e.note)))
	b = append(b, e.note...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(e.exact)))
	for _, s := range e.exact {
		hash := s.hash.Bytes()
		b = append(append(b, byte(s.kind)), hash[:]...)
	}
	b = append(b, byte(len(e.sketches)))
	for _, s := range e.sketches {
		all := byte(0)
		if s.all {
			all = 1
		}
		b = append(b, byte(s.kind), all)
		b = binary.BigEndian.AppendUint16(b, uint16(len(s.keys)))
		for _, key := range s.keys {
			b = binary.BigEndian.AppendUint64(b, key)
		}
	}
	return seal(b)
}

// readNever reads the file of an entry. Damage is a *DamageError.
func readNever(path string, keyID [8]byte) (e *neverEntry, err error) {
	err = neverForm.load(path, func(data []byte) (err error) {
		e, err = decodeNever(data, keyID)
		if err == nil && neverPath(filepath.Dir(path), e.name) != path {
			err = fmt.Errorf("it is of %s", e.name)
		}
		return err
	})
	return e, err
}

func decodeNever(data []byte, keyID [8]byte) (*neverEntry, error) {
	body, err := neverForm.open(data, keyID)
	if err != nil {
		return nil, err
	}
	e, err := decodeNeverEntry(bytes.NewBuffer(body))
	if err != nil {
		return nil, err
	}
	return e, CheckNote(e.note)
}

var errNeverCut = errors.New("entry is cut short")

// decodeNeverEntry reads a file's content.
func decodeNeverEntry(b *bytes.Buffer) (*neverEntry, error) {
	fixed := b.Next(1 + 8 + 8 + 1)
	if len(fixed) < 18 {
		return nil, errNeverCut
	}
	e := &neverEntry{name: shortID{signature.Kind(fixed[0]), [8]byte(fixed[1:])}, at: int64(binary.BigEndian.Uint64(fixed[9:]))}
	note := b.Next(int(fixed[17]))
	count := b.Next(2)
	if len(note) < int(fixed[17]) || len(count) < 2 {
		return nil, errNeverCut
	}
	e.note = string(note)
	n := int(binary.BigEndian.Uint16(count))
	if n == 0 || n > maxKeys {
		return nil, fmt.Errorf("%d signatures, must be 1 to %d", n, maxKeys)
	}
	exact := b.Next(n * neverExactSize)
	if len(exact) < n*neverExactSize {
		return nil, errNeverCut
	}
	for s := range slices.Chunk(exact, neverExactSize) {
		e.exact = append(e.exact, neverSignature{signature.Kind(s[0]), filter.HashBytes([32]byte(s[1:]))})
	}
	if err := decodeNeverSketches(b, e); err != nil {
		return nil, err
	}
	if b.Len() > 0 {
		return nil, fmt.Errorf("%d bytes follow the entry", b.Len())
	}
	return e, nil
}

func decodeNeverSketches(b *bytes.Buffer, e *neverEntry) error {
	count, err := b.ReadByte()
	if err != nil {
		return errNeverCut
	}
	if count > maxNeverSketches {
		return fmt.Errorf("%d sketches, must be at most %d", count, maxNeverSketches)
	}
	for range count {
		head := b.Next(4)
		if len(head) < 4 {
			return errNeverCut
		}
		s := neverSketch{kind: signature.Kind(head[0]), all: head[1] == 1}
		n := int(binary.BigEndian.Uint16(head[2:]))
		keys := b.Next(8 * n)
		switch {
		case head[1] > 1:
			return fmt.Errorf("sketch flag %d, must be 0 or 1", head[1])
		case n == 0 || n > maxNeverKeys:
			return fmt.Errorf("sketch of %d keys, must be 1 to %d", n, maxNeverKeys)
		case len(keys) < 8*n:
			return errNeverCut
		}
		for key := range slices.Chunk(keys, 8) {
			s.keys = append(s.keys, binary.BigEndian.Uint64(key))
			if i := len(s.keys) - 1; s.keys[i]>>63 == 1 || i > 0 && s.keys[i] <= s.keys[i-1] {
				return fmt.Errorf("key %d of a sketch is %#x, must ascend and be below 2^63", i+1, s.keys[i])
			}
		}
		e.sketches = append(e.sketches, s)
	}
	return nil
}

// loadNever reads the entries of a folder.
func (ks *keyspace) loadNever(entries []os.DirEntry) error {
	var list []*neverEntry
	for _, entry := range entries {
		if !isNeverPath(entry.Name()) {
			continue
		}
		e, err := readNever(filepath.Join(ks.opt.Dir, entry.Name()), ks.ring.keyID)
		if err != nil {
			if err := ks.files.contain(err); err != nil {
				return err
			}
			continue
		}
		if list = append(list, e); len(list) > maxNever {
			return fmt.Errorf("%s: over %d messages on the never-list", ks.opt.Dir, maxNever)
		}
	}
	ks.never.put(list...)
	return nil
}

// IsNeverID tells whether a name has the form of NeverEntry.ID.
func IsNeverID(name string) bool {
	kind, id, ok := strings.Cut(name, ":")
	_, err := signature.ParseKind(kind)
	_, bad := hex.DecodeString(id)
	return ok && err == nil && bad == nil && len(id) == 16
}
