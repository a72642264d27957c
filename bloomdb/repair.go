package bloomdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/spambloom/spambloom/signature"
)

// Repaired is one thing that Repair did.
type Repaired struct {
	Path  string
	Fault string // what was wrong with the file
	Lost  string // what it held and may be gone; empty: nothing
}

// mending collects what Repair does. It is safe for concurrent use.
type mending struct {
	mu   sync.Mutex
	done []Repaired
}

func (m *mending) note(path, fault, lost string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = append(m.done, Repaired{path, fault, lost})
}

// Repair opens the database like Open and repairs what Open refuses. Of a damaged filter
// or journal it takes every block and record whose checksum is right; an identity is made
// anew. A damaged file is kept as NAME.damaged. Nothing is acknowledged twice or made up:
// the caller restores what is lost by Restore, from the ledger of reports, and closes the
// database, which writes all of it. Errors are those of Open, for what cannot be repaired.
func Repair(o Options) (*DB, []Repaired, error) {
	m := new(mending)
	db, err := open(o, m)
	return db, m.done, err
}

// Restore lists a message as it was listed at a time, or revokes it if revoked is true,
// in the generation of that time. It reports whether that generation is kept. It writes
// no journal: the snapshots of Close hold the result. What was not there yet, a snapshot
// tells other sites. Source: the ledger, after Repair.
func (db *DB) Restore(set signature.Set, class Class, revoked bool, at time.Time) (bool, error) {
	kind := spamFilter
	if revoked {
		kind = revokedFilter
	} else if reportable, err := db.reportable(set); err == nil {
		set = reportable
	} else {
		return false, nil // it is on the never-list
	}
	t := target{kind, db.ks.opt.generation(kind, at)}
	if db.ks.opt.aged(t) || db.ks.opt.early(t) {
		return false, nil
	}
	return true, db.each(func(ks *keyspace) error { return ks.restore(t, set, class) })
}

func (ks *keyspace) restore(t target, set signature.Set, class Class) error {
	r := record{target: t, class: ks.store.keptClass(class, t.gen)}
	for _, s := range slices.Concat(set.Signatures, ks.domainSignatures(t.kind, set)) {
		r.hashes = append(r.hashes, ks.ring.reportHash(s))
	}
	records, err := ks.sketches.sketchRecords(ks.sketches.reported(set.Sketches), sketchListOf(t.kind), t.gen)
	if err != nil {
		return err
	}
	before := ks.store.ownBitsSet()
	for _, r := range append(records, r) {
		if err := ks.store.set(r, func(target, []uint64) {}); err != nil {
			return err
		}
	}
	if ks.store.ownBitsSet() == before {
		return nil
	}
	return ks.pub.republish(ks.opt.Dir, ks.opt.Now())
}

// ownBitsSet counts the bits of all of this site's own reports.
func (st *store) ownBitsSet() (n int64) {
	for _, g := range st.view.Load().reports {
		for _, kind := range reportKinds {
			if own := g.listing(kind).own; own != nil {
				n += own.Ones()
			}
		}
	}
	return n
}

// keepDamaged keeps a damaged file under its other name, while it is replaced.
func keepDamaged(path string) error {
	aside := path + damagedSuffix
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(path, aside); err != nil { // of a folder, or where the file system has no links
		return os.Rename(path, aside)
	}
	return nil
}

// mendSnapshot reads the undamaged blocks of one of this site's own filters.
func (ks *keyspace) mendSnapshot(l *ownLoader, err error) error {
	var damage *DamageError
	if !errors.As(err, &damage) {
		return err
	}
	data, err := salvage(l.path)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	sec, body, found := sectionAt(data, ks.opt.Site)
	length := len(data)
	if ks.isOthers(l.path) || found && sec.target != l.want {
		data, body, found = nil, 0, false // whole, and of another filter: its blocks mean nothing here
	}
	if !found {
		sec = section{target: l.want, shape: bitsShape(ks.store.shapeFor(l.want))}
	}
	sec.period = int64(ks.opt.period(l.want.kind) / time.Second)
	if l.bits == nil {
		l.site = ks.opt.Site
		if err := l.section(sec); err != nil {
			return err
		}
	}
	sec.shape = bitsShape(l.bits.Shape())
	lost := length - len(data) + salvageBlocks(data[body:], sec, l)
	if err := keepDamaged(l.path); err != nil {
		return fmt.Errorf("snapshot %s: %w", l.path, err)
	}
	ks.files.mending.note(l.path, damage.Error(), fmt.Sprintf("%d of %d bytes: %s", lost, length, costOf(filepath.Base(l.path))))
	return nil
}

// isOthers reports whether a snapshot is of another site or federation key.
func (ks *keyspace) isOthers(path string) bool {
	s, keyID, ok := snapshotHead(path)
	return ok && (keyID != ks.ring.keyID || s.origin.site != ks.opt.Site)
}

// sectionAt reads the head of the only section of an own snapshot, and where its blocks
// begin. Where the head is damaged, all of the file is searched for blocks.
func sectionAt(data []byte, site string) (sec section, body int, found bool) {
	const size = 1 + 3*8 + 1
	at := fileHead + 1 + len(site) + 4*8 + 4 + 4
	if len(data) < at+size+4 || string(seal(slices.Clone(data[at:at+size]))) != string(data[at:at+size+4]) {
		return sec, 0, false
	}
	head := data[at:]
	sec.target = target{filterKind(head[0]), int64(binary.BigEndian.Uint64(head[1:]))}
	sec.shape = decodeShape(binary.BigEndian.Uint64(head[17:]), head[25])
	return sec, at + size + 4, sec.target.kind.valid() && sec.shape.valid(sec.target.kind) == nil
}

// salvageBlocks gives the loader every block whose checksum is right, and returns how
// many bytes belong to none.
func salvageBlocks(data []byte, sec section, l loader) (lost int) {
	for len(data) > 0 {
		index, code, ok := blockAt(data, sec.shape.blocks(sec.target.kind))
		if !ok {
			data, lost = data[1:], lost+1
			continue
		}
		var err error
		switch number := uint64(index &^ rawBlock); {
		case index == endOfSection:
		case index&rawBlock != 0:
			_, err = decodeRaw(sec, number, code, l)
		default:
			_, err = decodeCoded(sec, number, code, nil, l)
		}
		if err != nil {
			lost += len(code)
		}
		data = data[8+len(code)+4:]
	}
	return lost
}

// blockAt reads the block that begins here, if one does.
func blockAt(data []byte, blocks uint64) (index uint32, code []byte, ok bool) {
	if len(data) < 8+4 {
		return 0, nil, false
	}
	index = binary.BigEndian.Uint32(data)
	n := int(binary.BigEndian.Uint32(data[4:]))
	if n > maxBlockCode || len(data) < 8+n+4 || index != endOfSection && uint64(index&^rawBlock) >= blocks {
		return 0, nil, false
	}
	sealed := seal(slices.Clone(data[:8+n]))
	return index, data[8 : 8+n], string(sealed) == string(data[:8+n+4])
}

// mendSegment writes a segment of the journal anew, with the records that are whole.
func (ks *keyspace) mendSegment(path string, err error) error {
	var damage *DamageError
	if !errors.As(err, &damage) {
		return err
	}
	data, err := salvage(path)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	fresh := (&journal{keyID: ks.ring.keyID}).header()
	lost := 0
	if id, ok := journalKey(data); ok && id != ks.ring.keyID {
		data, lost = nil, len(data) // another's: nothing of it means anything here
	}
	length := max(len(data), lost)
	for at := len(fresh); at < len(data); {
		body, err := frameAt(data, at)
		if err == nil {
			_, _, err = decodeRecord(body)
		}
		if errors.Is(err, ErrNewer) {
			return damaged(path, int64(at), err)
		}
		if err != nil {
			at, lost = at+1, lost+1
			continue
		}
		end := at + frameHeader + len(body)
		fresh = append(fresh, data[at:end]...)
		at = end
	}
	// Places in the journal move. That is on disk first: where the repair is interrupted, the
	// next one finds the journal whole.
	if err := ks.pub.republish(ks.opt.Dir, ks.opt.Now()); err != nil {
		return err
	}
	if err := keepDamaged(path); err != nil {
		return fmt.Errorf("journal %s: %w", path, err)
	}
	if err := renameio.WriteFile(path, fresh, 0o600, renameio.WithTempDir(ks.opt.Dir)); err != nil {
		return fmt.Errorf("journal %s: %w", path, err)
	}
	ks.files.mending.note(path, damage.Error(), fmt.Sprintf("%d of %d bytes: %s", lost, length, costOf(filepath.Base(path))))
	return syncDir(ks.opt.Dir)
}

// journalKey is the id of the federation key in a segment's header, if that is whole.
func journalKey(data []byte) (id [8]byte, ok bool) {
	if len(data) < journalHeader || string(data[:8]) != journalForm.magic {
		return id, false
	}
	ok = string(seal(slices.Clone(data[:journalHeader-4]))) == string(data[:journalHeader])
	return [8]byte(data[10:18]), ok
}

// mendIdentities writes the identities anew that are damaged or missing: that of the
// state folder, and those of the folders of later keys.
func (m *mending) mendIdentities(o *settings, keyID string) error {
	folders, err := keyFolders(o.Dir)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		id, err := readIdentity(folder)
		if err == nil && isForeign(id, folder, o.Site) {
			err = damaged(identityPath(folder), 0, fmt.Errorf("it is of site %s, key %s, and the filters beside it are not", id.Site, id.KeyID))
		}
		var damage *DamageError
		gone := errors.Is(err, fs.ErrNotExist) && len(headKeys(folder)) > 0
		if !gone && !errors.As(err, &damage) {
			continue // Open says what else is wrong
		}
		if err := m.mendIdentity(o, keyID, folder, err); err != nil {
			return fmt.Errorf("%s: %w", identityPath(folder), err)
		}
	}
	return nil
}

// keyFolders are the state folder and those of later keys in it.
func keyFolders(dir string) (folders []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	folders = []string{dir}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), keyFolderPrefix) {
			folders = append(folders, filepath.Join(dir, e.Name()))
		}
	}
	return folders, nil
}
