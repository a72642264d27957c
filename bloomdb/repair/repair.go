package repair

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
)

// Repaired is one action of Repair.
type Repaired struct {
	Path  string
	Fault string // what was wrong with the file
	Lost  string // content that may be lost; empty: nothing
}

// Mending collects the actions of Repair. It is safe for concurrent use.
type Mending struct {
	mu   sync.Mutex
	Done []Repaired
}

func (m *Mending) Note(path, fault, lost string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Done = append(m.Done, Repaired{path, fault, lost})
}

// SectionAt decodes the head of the only section of an own snapshot, and returns where its blocks
// begin. If the head is damaged, the blocks are searched for in the whole file.
func SectionAt(data []byte, site string) (sec snapshot.Section, body int, found bool) {
	const size = 1 + 3*8 + 1
	at := folder.FileHead + 1 + len(site) + 4*8 + 4 + 4
	if len(data) < at+size+4 || string(folder.Seal(slices.Clone(data[at:at+size]))) != string(data[at:at+size+4]) {
		return sec, 0, false
	}
	head := data[at:]
	sec.Target = layout.Target{Kind: layout.Kind(head[0]), Gen: int64(binary.BigEndian.Uint64(head[1:]))}
	sec.Shape = layout.DecodeShape(binary.BigEndian.Uint64(head[17:]), head[25])
	return sec, at + size + 4, sec.Target.Kind.Valid() && sec.Shape.Valid(sec.Target.Kind) == nil
}

// SalvageBlocks passes every block with a right checksum to the loader. It returns the number of
// bytes that belong to no such block.
func SalvageBlocks(data []byte, sec snapshot.Section, l snapshot.Loader) (lost int) {
	for len(data) > 0 {
		index, code, ok := blockAt(data, sec.Shape.Blocks(sec.Target.Kind))
		if !ok {
			data, lost = data[1:], lost+1
			continue
		}
		var err error
		switch number := uint64(index &^ snapshot.RawBlock); {
		case index == snapshot.EndOfSection:
		case index&snapshot.RawBlock != 0:
			_, err = snapshot.DecodeRaw(sec, number, code, l)
		default:
			_, err = snapshot.DecodeCoded(sec, number, code, nil, l)
		}
		if err != nil {
			lost += len(code)
		}
		data = data[8+len(code)+4:]
	}
	return lost
}

// SalvageSnapshot reads a damaged file of one of this site's own filters, up to the length that a filter of the
// shape in its head can have, or of sec without a sound head. rest is the number of further bytes.
func SalvageSnapshot(path, site string, sec snapshot.Section) (data []byte, rest int64, err error) {
	const head, frame = 256, 8 + snapshot.MaxBlockCode + 4
	begin, _, err := folder.Salvage(path, head)
	if err != nil {
		return nil, 0, err
	}
	if own, _, found := SectionAt(begin, site); found {
		sec = own
	}
	return folder.Salvage(path, head+int64(sec.Shape.Blocks(sec.Target.Kind)+1)*frame)
}

// blockAt decodes the block at the beginning of data, if there is one.
func blockAt(data []byte, blocks uint64) (index uint32, code []byte, ok bool) {
	if len(data) < 8+4 {
		return 0, nil, false
	}
	index = binary.BigEndian.Uint32(data)
	n := int(binary.BigEndian.Uint32(data[4:]))
	if n > snapshot.MaxBlockCode || len(data) < 8+n+4 || index != snapshot.EndOfSection && uint64(index&^snapshot.RawBlock) >= blocks {
		return 0, nil, false
	}
	sealed := folder.Seal(slices.Clone(data[:8+n]))
	return index, data[8 : 8+n], string(sealed) == string(data[:8+n+4])
}

// JournalKey returns the id of the federation key in a segment's header, if the header is intact.
func JournalKey(data []byte) (id [8]byte, ok bool) {
	if len(data) < journal.Header || string(data[:8]) != journal.Form.Magic {
		return id, false
	}
	ok = string(folder.Seal(slices.Clone(data[:journal.Header-4]))) == string(data[:journal.Header])
	return [8]byte(data[10:18]), ok
}

// MendIdentities rebuilds damaged and missing identities: that of the state folder, and those of
// the folders of later keys. Damaged names are mended first: a journal that seems to begin late would make
// the identity look old.
func (m *Mending) MendIdentities(o *layout.Settings, keyID string) error {
	if err := m.mendNames(o); err != nil {
		return err
	}
	folders, err := folder.KeyFolders(o.Dir)
	if err != nil {
		return err
	}
	for _, f := range folders {
		id, err := folder.ReadIdentity(f)
		if err == nil && isForeign(id, f, o.Site) {
			err = folder.Damaged(folder.IdentityPath(f), 0, fmt.Errorf("it belongs to site %s and key %s, but the filters beside it do not", id.Site, id.KeyID))
		}
		if err == nil {
			entries, _ := os.ReadDir(f) // Open reports a folder that cannot be read
			err = CheckIdentityAge(id, f, entries)
		}
		var damage *folder.DamageError
		gone := errors.Is(err, fs.ErrNotExist) && len(headKeys(f)) > 0
		if !gone && !errors.As(err, &damage) {
			continue // Open reports any other fault
		}
		if err := m.mendIdentity(o, keyID, f, err); err != nil {
			return fmt.Errorf("%s: %w", folder.IdentityPath(f), err)
		}
	}
	return nil
}
