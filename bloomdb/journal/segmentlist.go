package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/folder"
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
const SegmentsFile = "segments"

const (
	segmentEntry = 4 + 8 // number, length
	maxSegments  = 1 << 16
)

var SegmentsForm = folder.SealedForm{FileForm: folder.FileForm{Name: "list of segments", Magic: "SBSEGS\r\n", Version: 1}, Most: maxSegments * segmentEntry}

// SegmentList is the file as it is on disk. It is safe for concurrent use; nothing else is
// locked while The caller holds mu.
type SegmentList struct {
	Dir   string
	KeyID [8]byte

	mu      sync.Mutex // guards all below
	sizes   map[uint32]int64
	written time.Time
}

// Change edits the list and writes it. It does nothing if the edit changes nothing. If an
// error is returned, has reports whether the change may be on disk.
func (l *SegmentList) Change(edit func(sizes map[uint32]int64)) error {
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
	path := filepath.Join(l.Dir, SegmentsFile)
	if err := renameio.WriteFile(path, EncodeSegments(l.KeyID, next), 0o600, renameio.WithTempDir(l.Dir)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	l.sizes = next
	return folder.SyncDir(l.Dir)
}

// has reports whether a segment is listed.
func (l *SegmentList) has(segment uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.sizes[segment]
	return ok
}

// raise notes lengths that are on disk, of segments that are listed.
func (l *SegmentList) raise(sizes map[uint32]int64) error {
	return l.Change(func(listed map[uint32]int64) {
		for n := range listed {
			listed[n] = max(listed[n], sizes[n])
		}
	})
}

// RaiseLater does so once a minute.
func (l *SegmentList) RaiseLater(sizes func() map[uint32]int64, now time.Time) error {
	l.mu.Lock()
	due := now.Sub(l.written).Abs() >= clock.StampEvery
	if due {
		l.written = now
	}
	l.mu.Unlock()
	if !due {
		return nil
	}
	return l.raise(sizes())
}

// EncodeSegments is the file.
func EncodeSegments(keyID [8]byte, sizes map[uint32]int64) []byte {
	b := SegmentsForm.Begin(keyID)
	for _, n := range slices.Sorted(maps.Keys(sizes)) {
		b = binary.BigEndian.AppendUint32(b, n)
		b = binary.BigEndian.AppendUint64(b, uint64(sizes[n]))
	}
	return folder.Seal(b)
}

// ReadSegments reads the list of a folder. It returns an error that wraps fs.ErrNotExist
// where there is none; damage is a *DamageError.
func ReadSegments(dir string, keyID [8]byte) (map[uint32]int64, error) {
	sizes := make(map[uint32]int64)
	err := SegmentsForm.Load(filepath.Join(dir, SegmentsFile), func(data []byte) error {
		body, err := SegmentsForm.Open(data, keyID)
		if err == nil && len(body)%segmentEntry != 0 {
			err = errors.New("file is cut short")
		}
		for ; err == nil && len(body) > 0; body = body[segmentEntry:] {
			size := int64(binary.BigEndian.Uint64(body[4:]))
			if size < Header || size >= 1<<40 {
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
