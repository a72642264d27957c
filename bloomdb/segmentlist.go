package bloomdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"
)

// The segments of the journal are listed in a file, with the length that each has on disk
// at least. Without it, a segment that is gone or was cut short would look like one that
// never had a record.
//
//	begin a segment   its file is synced -> it is listed -> its first record
//	remove segments   snapshots have all of them -> they are unlisted -> removed
//
// After a crash between any two steps, every listed segment is there. The lengths are
// written once a minute: a cut of younger records looks like a torn tail.
const segmentsFile = "segments"

const (
	segmentEntry = 4 + 8 // number, length
	maxSegments  = 1 << 16
)

var segmentsForm = sealedForm{fileForm: fileForm{"list of segments", "SBSEGS\r\n", 1}, most: maxSegments * segmentEntry}

// segmentList is the file as it is on disk. It is safe for concurrent use; nothing else is
// locked while mu is held.
type segmentList struct {
	dir   string
	keyID [8]byte

	mu      sync.Mutex // guards all below
	sizes   map[uint32]int64
	written time.Time
}

// change edits the list and writes it. It does nothing if the edit changes nothing. If an
// error is returned, has reports whether the change may be on disk.
func (l *segmentList) change(edit func(sizes map[uint32]int64)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := maps.Clone(l.sizes)
	if next == nil {
		next = make(map[uint32]int64)
	}
	if edit(next); maps.Equal(next, l.sizes) && l.sizes != nil {
		return nil
	}
	if len(next) > maxSegments {
		return fmt.Errorf("journal: over %d segments", maxSegments)
	}
	path := filepath.Join(l.dir, segmentsFile)
	if err := renameio.WriteFile(path, encodeSegments(l.keyID, next), 0o600, renameio.WithTempDir(l.dir)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	l.sizes = next
	return syncDir(l.dir)
}

// has reports whether a segment is listed.
func (l *segmentList) has(segment uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.sizes[segment]
	return ok
}

// raise notes lengths that are on disk, of segments that are listed.
func (l *segmentList) raise(sizes map[uint32]int64) error {
	return l.change(func(listed map[uint32]int64) {
		for n := range listed {
			listed[n] = max(listed[n], sizes[n])
		}
	})
}

// raiseLater does so once a minute.
func (l *segmentList) raiseLater(sizes func() map[uint32]int64, now time.Time) error {
	l.mu.Lock()
	due := now.Sub(l.written).Abs() >= stampEvery
	if due {
		l.written = now
	}
	l.mu.Unlock()
	if !due {
		return nil
	}
	return l.raise(sizes())
}

// encodeSegments is the file.
func encodeSegments(keyID [8]byte, sizes map[uint32]int64) []byte {
	b := segmentsForm.begin(keyID)
	for _, n := range slices.Sorted(maps.Keys(sizes)) {
		b = binary.BigEndian.AppendUint32(b, n)
		b = binary.BigEndian.AppendUint64(b, uint64(sizes[n]))
	}
	return seal(b)
}

// readSegments reads the list of a folder. It returns an error that wraps fs.ErrNotExist
// where there is none; damage is a *DamageError.
func readSegments(dir string, keyID [8]byte) (map[uint32]int64, error) {
	sizes := make(map[uint32]int64)
	err := segmentsForm.load(filepath.Join(dir, segmentsFile), func(data []byte) error {
		body, err := segmentsForm.open(data, keyID)
		if err == nil && len(body)%segmentEntry != 0 {
			err = errors.New("file is cut short")
		}
		for ; err == nil && len(body) > 0; body = body[segmentEntry:] {
			size := int64(binary.BigEndian.Uint64(body[4:]))
			if size < journalHeader || size >= 1<<40 {
				err = fmt.Errorf("segment of %d bytes", size)
			}
			sizes[binary.BigEndian.Uint32(body)] = size
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return sizes, nil
}

// listedSegments reads the list, if the identity names it: a program that did not know it
// may have had the folder since. A damaged list is set aside: only whether the journal is
// whole is not known then.
func (ks *keyspace) listedSegments(id identity) (map[uint32]int64, error) {
	if !slices.Contains(id.Snapshots, segmentsFile) {
		return nil, nil
	}
	listed, err := readSegments(ks.opt.Dir, ks.ring.keyID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // checkPresent has named it
	}
	return listed, ks.files.contain(err)
}

// checkSegments names the listed segments that are not there. Repair goes on without them,
// and leaves an empty file in the place of each, NAME.damaged, which keeps the loss in the
// status until it is removed.
func (ks *keyspace) checkSegments(listed, present map[uint32]int64) (err error) {
	for _, n := range slices.Sorted(maps.Keys(listed)) {
		if _, ok := present[n]; ok {
			continue
		}
		path := segmentPath(ks.opt.Dir, n)
		if ks.files.mending == nil {
			err = errors.Join(err, damaged(path, 0, errMissing))
			continue
		}
		if err := ks.mendSegmentGone(path); err != nil {
			return err
		}
	}
	return err
}

// errMissing is the fault of a file that should be there.
var errMissing = errors.New("the file is missing")

// mendSegmentGone gives a segment up. Other sites are sent a snapshot then.
func (ks *keyspace) mendSegmentGone(path string) error {
	if err := ks.pub.republish(ks.opt.Dir, ks.opt.Now()); err != nil {
		return err
	}
	return ks.files.mendMissing(path, errMissing, costOf(filepath.Base(path)))
}

// mendMissing gives a file up that is missing.
func (f *fileSet) mendMissing(path string, fault error, cost string) error {
	if err := leaveMark(path); err != nil {
		return err
	}
	f.mending.note(path, fault.Error(), cost)
	return nil
}

// leaveMark makes an empty NAME.damaged for a missing file.
func leaveMark(path string) error {
	aside, err := os.OpenFile(path+damagedSuffix, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(aside.Close(), syncDir(filepath.Dir(path)))
}
