package keyspace

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/mask"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/store"
)

// Check verifies the filters in memory and the files of the keyspace.
func (ks *Keyspace) Check() error { return errors.Join(ks.Store.Check(), ks.CheckFiles()) }

// CheckFiles reads all files of the keyspace and returns every damage.
func (ks *Keyspace) CheckFiles() error {
	ks.SnapshotMu.Lock()
	defer ks.SnapshotMu.Unlock()
	if err := ks.Journal.Flush(); err != nil {
		return err
	}
	_, err := folder.ReadIdentity(ks.Settings.Dir)
	return errors.Join(err, ReadAll(ks.Settings.Dir, ks.Ring.KeyID, ks.Votes.CheckVotes))
}

// ReadAll reads and verifies all files of a folder. The caller's function verifies votes.
func ReadAll(dir string, keyID [8]byte, votes func(name string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	segments := make(map[uint32]bool)
	for _, entry := range entries {
		name := entry.Name()
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, ".snapshot") && !strings.HasPrefix(name, ".") {
			_, e := store.ReadSnapshot(path, keyID, nil)
			err = errors.Join(err, e)
		}
		if gen, ok := mask.ParsePath(name); ok {
			_, e := mask.Read(path, keyID, gen)
			err = errors.Join(err, e)
		}
		if gen, ok := commonness.Files.Parse(name); ok {
			err = errors.Join(err, commonness.Check(path, keyID, gen))
		}
		err = errors.Join(err, votes(name))
		if never.IsPath(name) {
			_, e := never.Read(path, keyID)
			err = errors.Join(err, e)
		}
		if n, ok := strings.CutPrefix(name, "journal-"); ok {
			if num, e := strconv.ParseUint(n, 10, 32); e == nil {
				segments[uint32(num)] = true
			}
		}
	}
	if _, e := clock.ReadStamp(dir); !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	listed, e := journal.ReadSegments(dir, keyID)
	if !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	for n := range listed {
		if !segments[n] {
			err = errors.Join(err, folder.Damaged(journal.SegmentPath(dir, n), 0, folder.ErrMissing))
		}
	}
	order := slices.Sorted(maps.Keys(segments))
	for i, n := range order {
		last := i == len(order)-1 // other goroutines may be appending to the last one
		_, _, e := journal.ReadSegment(journal.SegmentPath(dir, n), keyID, last, listed[n], func(int64, journal.Record) error { return nil })
		err = errors.Join(err, e)
	}
	return err
}
