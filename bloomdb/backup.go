package bloomdb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
)

// Backup is the state folder at one time, as a crash at that time could have left it.
// The database goes on meanwhile; Open recovers from the copy as it does from a crash.
//
//	snapshots, masks, votes  opened while no snapshot is written. They are only ever
//	                         replaced by rename: an open file keeps its content
//	identity                 read next: it must not claim more than the journal has
//	journal                  all segments at one moment, up to what is on disk, and a list
//	                         of them. They are only appended to; a removed one stays
//	                         readable while open
//	never-list               from memory: an entry is never changed
//
// Nothing is kept from being written or removed while the files are copied.
type Backup struct {
	journal, saved, identities []BackupFile

	never []backedNever
	open  []*os.File // of journal and saved
}

// BackupFile is one file of a backup. Content has exactly Size bytes.
type BackupFile struct {
	Name    string // in the state folder, with slashes
	Size    int64
	Content io.Reader
}

func newBackupFile(name string, data []byte) BackupFile {
	return BackupFile{filepath.ToSlash(name), int64(len(data)), bytes.NewReader(data)}
}

// backedNever is an entry of the never-list of one folder.
type backedNever struct {
	folder string
	keyID  [8]byte
	entry  *never.Entry
}

// Backup takes all that this database has on disk at this moment; of the previous key's
// database, too. The state of keys that are not in use is not in it, nor are damaged files
// that were set aside.
//
// The identity in the backup begins a new life, which carries over what other sites hold of
// this one: the folder that is restored must not give a number twice that was given after
// the backup. ErrClosed, or the disk's error. The caller calls Close.
func (db *DB) Backup() (*Backup, error) {
	if db.ks.Closed.Load() {
		return nil, layout.ErrClosed
	}
	b := new(Backup)
	root := filepath.Dir(db.lock.Path())
	err := db.each(func(ks *keyspace.Keyspace) error { return b.take(ks, root) })
	if err == nil {
		err = b.add(&b.saved, root, clock.File, wholeFile)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("backup: %w", err), b.Close())
	}
	return b, nil
}

// Files are the files of the backup but the identities, those of the journal first.
func (b *Backup) Files() iter.Seq[BackupFile] {
	return func(yield func(BackupFile) bool) {
		for _, f := range slices.Concat(b.journal, b.saved) {
			if !yield(f) {
				return
			}
		}
		for _, n := range b.never {
			if !yield(newBackupFile(never.Path(n.folder, n.entry.Name), never.Encode(n.keyID, n.entry))) {
				return
			}
		}
	}
}

// Identities are the last files to be copied: a folder with the others and no identity is
// refused by Open.
func (b *Backup) Identities() []BackupFile { return b.identities }

// Close closes the files.
func (b *Backup) Close() (err error) {
	for _, f := range b.open {
		err = errors.Join(err, f.Close())
	}
	b.open = nil
	return err
}

// take adds the files of one database.
func (b *Backup) take(ks *keyspace.Keyspace, root string) error {
	folder, err := filepath.Rel(root, ks.Settings.Dir)
	if err != nil {
		return err
	}
	ks.SnapshotMu.Lock()
	defer ks.SnapshotMu.Unlock()
	entries, err := os.ReadDir(ks.Settings.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if isSaved(e.Name()) {
			if err := b.add(&b.saved, root, filepath.Join(folder, e.Name()), wholeFile); err != nil {
				return err
			}
		}
	}
	if err := b.takeIdentity(ks, folder); err != nil {
		return err
	}
	sizes := ks.Journal.Durable()
	for _, segment := range slices.Sorted(maps.Keys(sizes)) {
		if err := b.add(&b.journal, root, journal.SegmentPath(folder, segment), sizes[segment]); err != nil {
			return err
		}
	}
	list := journal.EncodeSegments(ks.Ring.KeyID, sizes)
	b.saved = append(b.saved, newBackupFile(filepath.Join(folder, journal.SegmentsFile), list))
	for _, e := range ks.Never.All() {
		b.never = append(b.never, backedNever{folder, ks.Ring.KeyID, e})
	}
	return nil
}

// isSaved reports whether a file is one that snapshots write, or votes of another site.
func isSaved(name string) bool {
	switch filepath.Ext(name) {
	case ".snapshot", ".mask", ".votes":
		return !strings.HasPrefix(name, ".")
	}
	return false
}

// wholeFile is the size of a file that is copied as long as it is.
const wholeFile = -1

// add opens a file for a list. One that is not there is passed over where its size is
// wholeFile: a dropped site's, which the identity that is read afterwards does not name.
func (b *Backup) add(list *[]BackupFile, root, name string, size int64) error {
	f, err := os.Open(filepath.Join(root, name))
	if errors.Is(err, fs.ErrNotExist) && size == wholeFile {
		return nil
	}
	if err != nil {
		return err
	}
	b.open = append(b.open, f)
	if size == wholeFile {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		size = info.Size()
	}
	*list = append(*list, BackupFile{filepath.ToSlash(name), size, io.NewSectionReader(f, 0, size)})
	return nil
}

// takeIdentity adds the identity that is on disk, in its next life.
func (b *Backup) takeIdentity(ks *keyspace.Keyspace, f string) error {
	id, err := folder.ReadIdentity(ks.Settings.Dir)
	if err != nil {
		return err
	}
	id.Enter(folder.NextLife(id.Epoch, true))
	data, err := id.Encode()
	if err != nil {
		return err
	}
	b.identities = append(b.identities, newBackupFile(folder.IdentityPath(f), data))
	return nil
}
