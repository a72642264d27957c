package repair

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/mask"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
)

// ReadAll reads and verifies all files of a folder. The caller's function verifies votes.
func ReadAll(dir string, keyID [8]byte, votes func(name string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	segments := make(map[uint32]bool)
	for _, entry := range entries {
		err = errors.Join(err, readFile(dir, entry.Name(), keyID), votes(entry.Name()))
		if n, ok := journal.ParseSegment(entry.Name()); ok {
			segments[n] = true
		}
	}
	if _, e := clock.ReadStamp(dir); !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, readJournal(dir, keyID, segments))
}

// readFile reads a snapshot, a mask, a set of common features or the never-list.
func readFile(dir, name string, keyID [8]byte) (err error) {
	path := filepath.Join(dir, name)
	if strings.HasSuffix(name, ".snapshot") && !strings.HasPrefix(name, ".") {
		_, err = snapshot.Read(path, keyID, nil)
	}
	if gen, ok := mask.ParsePath(name); ok {
		_, _, err = mask.Read(path, keyID, gen)
	}
	if gen, ok := commonness.Files.Parse(name); ok {
		err = commonness.Check(path, keyID, gen)
	}
	if never.IsPath(name) {
		_, err = never.Read(path, keyID)
	}
	return err
}

// readJournal reads the segments that exist, and names those that are listed and do not.
func readJournal(dir string, keyID [8]byte, segments map[uint32]bool) error {
	listed, err := journal.ReadSegments(dir, keyID)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
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
