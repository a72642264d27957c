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

// The journal's segments are listed in a file, with the minimum size that each has on disk.
// Without the list, a segment that was lost or cut short would look like one that never had a
// record.
//
//	begin a segment   its file is synced -> it is listed -> its first record
//	remove segments   snapshots contain all of them -> they are unlisted -> removed
//
// After a crash between any two steps, every listed segment exists. The sizes are written
// once a minute, so the loss of younger records looks like a torn tail.
const SegmentsFile = "segments"

const (
	segmentEntry = 4 + 8   // number, length
	maxSegments  = 1 << 16 // in the list

	// ManySegments is the number from which the journal is given up as far as it is kept for unpublished changes
	// only: with one more every 10 minutes, after 113 days. From here on, a snapshot begins no further segment
	// until the current one has 64 MiB.
	ManySegments = 1 << 14
	longSegment  = 64 << 20
)

var SegmentsForm = folder.SealedForm{FileForm: folder.FileForm{Name: "list of segments", Magic: "SBSEGS\r\n", Version: 1}, Most: maxSegments * segmentEntry}

// SegmentList is the list of segments as it is on disk. It is safe for concurrent use. No
// other lock is taken while mu is held.
type SegmentList struct {
	Dir   string
	KeyID [8]byte

	mu      sync.Mutex // guards all below
	sizes   map[uint32]int64
	written time.Time
}

// Change edits the list and writes it. If the edit changes nothing, the file is not written. Of too many
// segments, the oldest are not listed: an error would refuse every start, and every snapshot, after which they are removed.
// After an error, has reports whether the change may be on disk.
func (l *SegmentList) Change(edit func(sizes map[uint32]int64)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := maps.Clone(l.sizes)
	if next == nil {
		next = make(map[uint32]int64)
	}
	edit(next)
	if excess := len(next) - maxSegments; excess > 0 {
		for _, n := range slices.Sorted(maps.Keys(next))[:excess] {
			delete(next, n)
		}
	}
	if maps.Equal(next, l.sizes) && l.sizes != nil {
		return nil
	}
	path := filepath.Join(l.Dir, SegmentsFile)
	if err := renameio.WriteFile(path, EncodeSegments(l.KeyID, next), 0o600, renameio.WithTempDir(l.Dir)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	l.sizes = next
	return folder.Sync(l.Dir)
}

// has reports whether a segment is listed.
func (l *SegmentList) has(segment uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.sizes[segment]
	return ok
}

// raise records larger sizes of listed segments.
func (l *SegmentList) raise(sizes map[uint32]int64) error {
	return l.Change(func(listed map[uint32]int64) {
		for n := range listed {
			listed[n] = max(listed[n], sizes[n])
		}
	})
}

// RaiseLater calls raise at most once a minute.
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

// EncodeSegments returns the file.
func EncodeSegments(keyID [8]byte, sizes map[uint32]int64) []byte {
	b := SegmentsForm.Begin(keyID)
	for _, n := range slices.Sorted(maps.Keys(sizes)) {
		b = binary.BigEndian.AppendUint32(b, n)
		b = binary.BigEndian.AppendUint64(b, uint64(sizes[n]))
	}
	return folder.Seal(b)
}

// ReadSegments reads the list of a folder. If there is none, it returns an error that wraps
// fs.ErrNotExist; damage is a *DamageError.
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

// Strays returns the segments whose numbers are not believed: a place in the journal has no room for them,
// or they are further ahead of the list and of the newest segment that the identity names than a journal
// has segments. Without a list, the identity may be an older copy: then the oldest segment counts, too.
func Strays(present, listed map[uint32]int64, known uint32) (strays []uint32) {
	order := slices.Sorted(maps.Keys(present))
	for n := range listed {
		known = max(known, n)
	}
	if len(listed) == 0 && len(order) > 0 {
		known = max(known, order[0])
	}
	for _, n := range order {
		if n > folder.MaxSegmentNumber || n > known && n-known > maxSegments {
			strays = append(strays, n)
		} else {
			known = max(known, n)
		}
	}
	return strays
}
