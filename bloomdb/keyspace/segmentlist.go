package keyspace

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/repair"
)

// listedSegments reads the list if the identity names it. Otherwise the folder may since have been
// used by a program that does not support it. A damaged list is set aside; only the check that the
// journal is complete is lost with it.
func (ks *Keyspace) listedSegments(id folder.Identity) (map[uint32]int64, error) {
	if !slices.Contains(id.Snapshots, journal.SegmentsFile) {
		return nil, nil
	}
	listed, err := journal.ReadSegments(ks.Settings.Dir, ks.Ring.KeyID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // checkPresent has reported it
	}
	return listed, ks.Files.Contain(err)
}

// checkSegments returns an error for listed segments that are missing. Repair continues without them.
// An empty NAME.damaged for each keeps the loss in the status until it is removed.
func (ks *Keyspace) checkSegments(listed, present map[uint32]int64) (err error) {
	for _, n := range slices.Sorted(maps.Keys(listed)) {
		if _, ok := present[n]; ok {
			continue
		}
		path := journal.SegmentPath(ks.Settings.Dir, n)
		if ks.Files.Mending == nil {
			err = errors.Join(err, folder.Damaged(path, 0, folder.ErrMissing))
			continue
		}
		if err := ks.mendSegmentGone(path); err != nil {
			return err
		}
	}
	return err
}

// mendSegmentGone gives up a missing segment. A snapshot is then published for other sites.
func (ks *Keyspace) mendSegmentGone(path string) error {
	if err := ks.Outbox.LoseJournal(ks.Settings.Dir, ks.Settings.Now()); err != nil {
		return err
	}
	return ks.Files.MendMissing(path, folder.ErrMissing, repair.CostOf(filepath.Base(path)))
}
