// Package backup copies the state folder of an open database, as a crash could have left it.
//
// It opens the files that belong together; the caller copies them. It takes
// SnapshotMu of a keyspace while it opens the keyspace's files.
package backup

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
	"github.com/spambloom/spambloom/bloomdb/never"
)

// Backup is the state folder at one time, as a crash at that time could have left it. The
// database continues meanwhile. Open recovers from the copy as it does from a crash.
//
//	snapshots, masks, votes  opened while no snapshot is written. They are only replaced by
//	                         rename, so an open file keeps its content
//	identity                 read next: it must not claim more than the journal contains
//	journal                  all segments at one moment, as far as they are on disk, and the
//	                         list of them. They are only appended to. A removed segment
//	                         stays readable while it is open
//	never-list               from memory: an entry never changes
//
// Files may be written and removed while they are copied.
type Backup struct {
	journal, saved, identities []File

	never []backedNever
	open  []*os.File // the files in journal and saved
}

// File is one file of a backup. Content has exactly Size bytes.
type File struct {
	Name    string // in the state folder, with slashes
	Size    int64
	Content io.Reader
}

func newFile(name string, data []byte) File {
	return File{filepath.ToSlash(name), int64(len(data)), bytes.NewReader(data)}
}

// backedNever is an entry of one keyspace's never-list.
type backedNever struct {
	folder string // of the keyspace, relative to the state folder
	keyID  [8]byte
	entry  *never.Entry
}

// Take opens the files that the keyspaces of a state folder, root, have on disk now.
func Take(root string, keys []*keyspace.Keyspace) (*Backup, error) {
	b := new(Backup)
	var err error
	for _, ks := range keys {
		if err = b.take(ks, root); err != nil {
			break
		}
	}
	if err == nil {
		err = b.add(&b.saved, root, clock.File, wholeFile)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("backup: %w", err), b.Close())
	}
	return b, nil
}

// Files yields the files of the backup without the identities, those of the journal first.
func (b *Backup) Files() iter.Seq[File] {
	return func(yield func(File) bool) {
		for _, f := range slices.Concat(b.journal, b.saved) {
			if !yield(f) {
				return
			}
		}
		for _, n := range b.never {
			if !yield(newFile(never.Path(n.folder, n.entry.Name), never.Encode(n.keyID, n.entry))) {
				return
			}
		}
	}
}

// Identities returns the files to copy last: Open rejects a folder that has the other files but
// no identity.
func (b *Backup) Identities() []File { return b.identities }

// Close closes the files.
func (b *Backup) Close() (err error) {
	for _, f := range b.open {
		err = errors.Join(err, f.Close())
	}
	b.open = nil
	return err
}

// take adds the files of one keyspace.
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
	b.saved = append(b.saved, newFile(filepath.Join(folder, journal.SegmentsFile), list))
	for _, e := range ks.Never.All() {
		b.never = append(b.never, backedNever{folder, ks.Ring.KeyID, e})
	}
	return nil
}

// isSaved reports whether a file is a snapshot, a mask, a common set or a file of votes.
func isSaved(name string) bool {
	switch filepath.Ext(name) {
	case ".snapshot", ".mask", ".votes", ".set":
		return !strings.HasPrefix(name, ".")
	}
	return false
}

// wholeFile is the size argument for a file that is copied to its end.
const wholeFile = -1

// add opens a file and appends it to a list. It ignores a missing file if size is wholeFile:
// the file belongs to a site that was dropped, and the identity, which is read later, does not
// name it.
func (b *Backup) add(list *[]File, root, name string, size int64) error {
	f, info, err := folder.OpenFile(filepath.Join(root, name)) // a pipe must not block: the caller holds SnapshotMu
	if errors.Is(err, fs.ErrNotExist) && size == wholeFile {
		return nil
	}
	if err != nil {
		return err
	}
	b.open = append(b.open, f)
	if size == wholeFile {
		size = info.Size()
	}
	*list = append(*list, File{filepath.ToSlash(name), size, io.NewSectionReader(f, 0, size)})
	return nil
}

// takeIdentity adds the identity that is on disk, in its next epoch.
func (b *Backup) takeIdentity(ks *keyspace.Keyspace, f string) error {
	id, err := folder.ReadIdentity(ks.Settings.Dir)
	if err != nil {
		return err
	}
	id.Enter(folder.NextEpoch(id.Epoch, true))
	data, err := id.Encode()
	if err != nil {
		return err
	}
	b.identities = append(b.identities, newFile(folder.IdentityPath(f), data))
	return nil
}
