package repair

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
)

// ErrName is the fault of a file whose name is damaged, or a copy's.
var ErrName = errors.New("no file of this state has this name or number")

// IsMisnamed reports whether a snapshot has neither the name of an own filter nor that of another site's.
func IsMisnamed(name string) bool {
	t, own := snapshot.ParseOwnPath(name)
	isOwn := own && snapshot.OwnPath("", t) == name
	return strings.HasSuffix(name, ".snapshot") && !isOwn && !strings.HasPrefix(name, "site-")
}

// CheckNames returns an error for each segment of the journal whose number is not believed: its records
// would have places after all later ones, or none.
func CheckNames(id folder.Identity, dir string, entries []os.DirEntry) (err error) {
	_, strays := segmentNames(id, dir, entries)
	for _, name := range strays {
		err = errors.Join(err, folder.Damaged(filepath.Join(dir, name), 0, ErrName))
	}
	return err
}

// segmentNames returns the listed segments that are missing, and the names of those with a stray number.
func segmentNames(id folder.Identity, dir string, entries []os.DirEntry) (missing, strays []string) {
	var keyID [8]byte
	hex.Decode(keyID[:], []byte(id.KeyID)[:min(len(id.KeyID), 2*len(keyID))]) // a wrong key has no list
	present := make(map[uint32]int64)
	for _, e := range entries {
		if n, ok := journal.ParseSegment(e.Name()); ok {
			present[n] = 0
		}
	}
	listed, err := journal.ReadSegments(dir, keyID)
	if err != nil || !slices.Contains(id.Snapshots, journal.SegmentsFile) {
		listed = nil
	}
	for _, n := range journal.Strays(present, listed, id.LastSegment()) {
		strays = append(strays, filepath.Base(journal.SegmentPath(dir, n)))
	}
	for _, n := range slices.Sorted(maps.Keys(listed)) {
		if _, ok := present[n]; !ok {
			missing = append(missing, filepath.Base(journal.SegmentPath(dir, n)))
		}
	}
	return missing, strays
}

// mendNames gives files with a damaged name their own names back, if these are free, in the state folder
// and in those of later keys. It sets aside the others whose names would be believed.
func (m *Mending) mendNames(o *layout.Settings) error {
	folders, err := folder.KeyFolders(o.Dir)
	if err != nil {
		return err
	}
	for _, dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("state folder: %w", err)
		}
		id, unread := folder.ReadIdentity(dir) // MendIdentities mends it
		err = m.mendSegmentNames(id, dir, entries)
		if unread == nil {
			err = errors.Join(err, m.mendSnapshotNames(id, o.Site, dir, entries))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mendSegmentNames gives a missing segment the file whose name differs from its own in one byte.
func (m *Mending) mendSegmentNames(id folder.Identity, dir string, entries []os.DirEntry) error {
	missing, strays := segmentNames(id, dir, entries)
	for _, name := range missing {
		for i, e := range entries {
			_, isSegment := journal.ParseSegment(e.Name())
			if !differInOne(e.Name(), name) || isSegment && !slices.Contains(strays, e.Name()) {
				continue
			}
			strays = slices.DeleteFunc(strays, func(s string) bool { return s == e.Name() })
			if err := m.rename(dir, e.Name(), name); err != nil {
				return err
			}
			entries = slices.Delete(slices.Clone(entries), i, i+1)
			break
		}
	}
	for _, name := range strays {
		if err := m.setAside(dir, name, CostOf(name)); err != nil {
			return err
		}
	}
	return nil
}

// mendSnapshotNames names the own filters that the identity does not name after their content.
func (m *Mending) mendSnapshotNames(id folder.Identity, site, dir string, entries []os.DirEntry) error {
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".snapshot") || strings.HasPrefix(name, ".") || slices.Contains(id.Snapshots, name) {
			continue
		}
		t, ok := ownTarget(filepath.Join(dir, name), site)
		own := filepath.Base(snapshot.OwnPath(dir, t))
		if !ok || own == name {
			continue
		}
		mend := func() error { return m.setAside(dir, name, "") }
		if _, err := os.Lstat(filepath.Join(dir, own)); errors.Is(err, os.ErrNotExist) && slices.Contains(id.Snapshots, own) {
			mend = func() error { return m.rename(dir, name, own) }
		}
		if err := mend(); err != nil {
			return err
		}
	}
	return nil
}

// ownTarget returns the filter of this site that a snapshot contains, as its head says.
func ownTarget(path, site string) (t layout.Target, ok bool) {
	s, _, ok := SnapshotHead(path)
	if !ok || s.Origin.Site != site {
		return t, false
	}
	f, _, err := folder.OpenFile(path)
	if err != nil {
		return t, false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return t, false
	}
	sec, _, ok := SectionAt(head, site)
	return sec.Target, ok
}

func (m *Mending) rename(dir, from, to string) error {
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		return err
	}
	m.Note(filepath.Join(dir, from), "it is "+to+", whose name was damaged; it has that again", "")
	return folder.Sync(dir)
}

func (m *Mending) setAside(dir, name, lost string) error {
	path := filepath.Join(dir, name)
	if err := folder.SetAside(path); err != nil {
		return fmt.Errorf("set aside: %w", err)
	}
	m.Note(path, ErrName.Error(), lost)
	return folder.Sync(dir)
}

// differInOne reports whether two names differ in exactly one byte.
func differInOne(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	differing := 0
	for i := range len(a) {
		if a[i] != b[i] {
			differing++
		}
	}
	return differing == 1
}
