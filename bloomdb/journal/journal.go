package journal

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb/folder"
)

// Log is the append-only log of this site's own changes, in segments. An appended record is
// open until its change is in the filters and the caller calls Done.
type Log struct {
	dir     string
	KeyID   [8]byte
	List    *SegmentList
	newFile func(path string) (SegmentFile, error)

	diskMu sync.Mutex // held by the one caller that writes; taken before mu

	mu      sync.Mutex // guards all below; no I/O while it is held, because judged messages wait for it
	applied *sync.Cond // signalled when an open record is done
	file    SegmentFile
	tail    []byte // records that no write has taken yet
	segment uint32
	newest  uint32 // the highest segment number used, or tried
	offset  int64  // end of what was appended
	onDisk  int64  // end of what is synced
	open    map[folder.LSN]struct{}
	sizes   map[uint32]int64 // bytes of older segments
	fault   error            // a failed write; nil again once a new segment is started
	losses  uint64           // times that changes in the filters may be in no segment: a snapshot is due
	begun   uint64           // losses before the current segment began
	saved   uint64           // losses of which snapshots contain the changes
	asked   time.Time        // when the disk was asked for what it has not done yet; zero: for nothing
}

// maxTail is the memory that records may take until they are written: 135,000 counts. Each second's are
// written at its end, but for the time in which snapshots are.
const maxTail = 4 << 20

// patience is the time after which a disk that does not answer is a fault.
const patience = 30 * time.Second

// SegmentFile is the file of a segment: an *os.File, or in tests a file that fails.
type SegmentFile interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// createFile makes a file that is not there yet.
func createFile(path string) (SegmentFile, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

func SegmentPath(dir string, segment uint32) string {
	return filepath.Join(dir, fmt.Sprintf("journal-%08d", segment))
}

// ParseSegment is the inverse of SegmentPath, for the name of a file. journal-5 is no segment.
func ParseSegment(name string) (segment uint32, ok bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(name, "journal-"), 10, 32)
	return uint32(n), err == nil && SegmentPath("", uint32(n)) == name
}

// Open starts a new segment. Its number follows those of the older segments, whose sizes on
// disk are given, and the newest one that the identity names. If the disk is full, or the
// quota used up, Open succeeds and the journal begins with that fault.
func Open(dir string, keyID [8]byte, older map[uint32]int64, known uint32, newFile func(path string) (SegmentFile, error)) (*Log, error) {
	if newFile == nil {
		newFile = createFile
	}
	j := &Log{dir: dir, KeyID: keyID, newFile: newFile, open: make(map[folder.LSN]struct{}), sizes: older, newest: known}
	j.List = &SegmentList{Dir: dir, KeyID: keyID, sizes: maps.Clone(older)}
	j.applied = sync.NewCond(&j.mu)
	for n := range older {
		j.newest = max(j.newest, n)
	}
	j.newest++
	f, err := j.create(j.newest)
	switch {
	case err == nil:
		j.begin(f, j.newest)
	case folder.IsFull(err):
		j.fault = err // lookups work; reports fail until there is room
	default:
		return nil, err
	}
	return j, nil
}

// create creates a segment's file, syncs its header and the folder, and lists it. After an
// error the file is removed, unless the list on disk may name it.
func (j *Log) create(segment uint32) (SegmentFile, error) {
	path := SegmentPath(j.dir, segment)
	f, err := j.newFile(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if _, err = f.Write(j.Header()); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = folder.Sync(j.dir)
	}
	if err == nil {
		err = j.List.Change(func(sizes map[uint32]int64) { sizes[segment] = Header })
	}
	if err != nil {
		f.Close()
		if !j.List.has(segment) {
			os.Remove(path)
		}
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return f, nil
}

// begin makes a created segment the current one. The caller holds mu.
func (j *Log) begin(f SegmentFile, segment uint32) {
	j.file, j.tail, j.segment = f, nil, segment
	j.offset, j.onDisk = Header, Header
}

// Append adds records, in order. When their changes are in the filters, the caller passes the
// returned position to Done. It never waits for the disk: it returns an error while a fault lasts,
// while the disk takes nothing and maxTail is used up, or when the segment is full.
func (j *Log) Append(records ...Record) (folder.LSN, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault != nil {
		return 0, j.fault
	}
	if err := j.checkRoom(); err != nil {
		j.losses++ // the caller may have counted already
		return 0, fmt.Errorf("journal %s: %w", SegmentPath(j.dir, j.segment), err)
	}
	at := folder.MakeLSN(j.segment, j.offset)
	for _, r := range records {
		before := len(j.tail)
		j.tail = AppendFrame(j.tail, r, j.offset-j.onDisk)
		j.offset += int64(len(j.tail) - before)
	}
	j.open[at] = struct{}{}
	return at, nil
}

// checkRoom returns an error if no more records may be appended before the disk takes some, or before the
// next segment begins.
func (j *Log) checkRoom() error {
	switch {
	case len(j.tail) > maxTail:
		return fmt.Errorf("%d MiB of records wait for the disk", maxTail>>20)
	case j.offset > MaxSegment-maxTail:
		return fmt.Errorf("it has %d MiB, and no snapshot has been written", j.offset>>20)
	}
	return nil
}

// Ready tries to repair an earlier fault. It returns an error while the fault lasts.
func (j *Log) Ready() error {
	j.mu.Lock()
	isBroken := j.fault != nil
	j.mu.Unlock()
	if !isBroken {
		return j.LastFault() // a disk that does not answer is not waited for
	}
	j.diskMu.Lock()
	defer j.diskMu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.repair()
}

func (j *Log) Done(at folder.LSN) {
	j.mu.Lock()
	delete(j.open, at)
	j.mu.Unlock()
	j.applied.Broadcast()
}

// fail records a write error. Unsynced records are lost; none was acknowledged. repair cuts
// them off. The caller holds both locks.
func (j *Log) fail(err error) {
	j.fault = fmt.Errorf("journal %s at offset %d: %w", SegmentPath(j.dir, j.segment), j.onDisk, err)
	j.tail = nil
}

// atDisk runs f without mu. The caller holds both locks.
func (j *Log) atDisk(f func() error) error {
	j.asked = time.Now()
	j.mu.Unlock()
	err := f()
	j.mu.Lock()
	j.asked = time.Time{}
	return err
}

// repair ends a faulty segment at its last synced byte and starts a new one, if there is a fault.
// After a failed fsync, nothing later in the file can be trusted. On a disk without room for more
// than the new segment's header, the fault lasts. The caller holds both locks; nothing is appended
// while there is a fault.
func (j *Log) repair() error {
	if j.fault == nil {
		return nil
	}
	if err := j.atDisk(func() error { return folder.CheckRoom(j.dir) }); err != nil {
		j.fault = fmt.Errorf("journal %s: %w", j.dir, err)
		return j.fault
	}
	if file, end := j.file, j.onDisk; file != nil {
		if err := j.atDisk(func() error { return folder.CutFile(file, end) }); err != nil {
			j.fail(err)
			return j.fault
		}
		j.sizes[j.segment] = end
		j.file = nil
		j.atDisk(file.Close) // what was acknowledged is synced
	}
	f, err := j.next()
	if err != nil {
		j.fault = err
		return err
	}
	j.begin(f, j.newest)
	j.fault = nil
	j.losses++
	return nil
}

// next creates the file of the next segment. The caller holds both locks.
func (j *Log) next() (f SegmentFile, err error) {
	j.newest++
	segment := j.newest
	err = j.atDisk(func() error {
		f, err = j.create(segment)
		return err
	})
	return f, err
}

// Sync returns when the record at the given position is on disk. One caller syncs for all that
// are waiting.
func (j *Log) Sync(at folder.LSN) error {
	j.diskMu.Lock()
	defer j.diskMu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.repair(); err != nil {
		return err
	}
	if at.Segment() == j.segment && at >= folder.MakeLSN(j.segment, j.onDisk) {
		j.syncFile()
	}
	switch {
	case j.fault != nil:
		return j.fault
	case at.Segment() < j.segment && at >= folder.MakeLSN(at.Segment(), j.sizes[at.Segment()]):
		return fmt.Errorf("journal %s: the record was lost in a failed write", SegmentPath(j.dir, at.Segment()))
	}
	return nil
}

// syncFile writes and syncs the records appended so far. The caller holds both locks.
func (j *Log) syncFile() {
	file, tail, offset := j.file, j.tail, j.offset
	j.tail = nil
	err := j.atDisk(func() error { return writeOut(file, tail) })
	if err != nil {
		j.fail(err)
		return
	}
	j.onDisk = offset
}

func writeOut(file SegmentFile, records []byte) error {
	if _, err := file.Write(records); err != nil {
		return err
	}
	return file.Sync()
}

// Flush syncs all appended records. It returns nil if it repaired a fault. Records lost to the
// fault are still in the filters, and SnapshotDue reports true.
func (j *Log) Flush() error {
	j.diskMu.Lock() // a rotation may be syncing the records of the segment before
	defer j.diskMu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault != nil {
		return j.repair()
	}
	if j.offset > j.onDisk {
		j.syncFile()
	}
	return j.fault
}

// SnapshotDue reports whether the filters may contain changes that no segment contains.
func (j *Log) SnapshotDue() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.losses > j.saved
}

// Rotate syncs the segment, starts the next one if that is due, and returns a position once the changes of
// all earlier records are in the filters. It returns a position twice only if no record was appended between:
// then the snapshots are the same, as the ledger's reports, which have no records, are listed before the first one.
func (j *Log) Rotate() (folder.LSN, error) {
	begin, err := j.switchSegment()
	if err != nil {
		return 0, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.oldestOpen(begin) < begin {
		j.applied.Wait()
	}
	j.begun = j.losses
	return begin, nil
}

// switchSegment starts the next segment, if that is due, and returns its position, or where the current one
// is synced. Appends continue meanwhile. The records appended while the file is created are synced after it
// has begun: goroutines that wait for them wait for diskMu.
func (j *Log) switchSegment() (folder.LSN, error) {
	j.diskMu.Lock()
	defer j.diskMu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault == nil {
		j.syncFile() // before the new file's header, so that little is left for later
	}
	if j.fault != nil {
		if err := j.repair(); err != nil {
			return 0, err
		}
		return folder.MakeLSN(j.segment, Header), nil
	}
	if !j.isNextDue() {
		return folder.MakeLSN(j.segment, j.onDisk), nil
	}
	fresh, err := j.next()
	if err != nil {
		return 0, err // the old segment remains the current one
	}
	old, number, size, synced, tail := j.file, j.segment, j.offset, j.onDisk, j.tail
	j.sizes[number] = synced
	j.begin(fresh, j.newest)
	err = j.atDisk(func() error { return writeOut(old, tail) })
	if err != nil {
		j.losses++
		j.atDisk(func() error { return folder.CutFile(old, synced) }) // no later record was acknowledged
	} else {
		j.sizes[number] = size
	}
	j.atDisk(old.Close)
	return folder.MakeLSN(j.segment, Header), nil
}

// isNextDue reports whether a snapshot begins the next segment: otherwise a journal of which nothing can be
// dropped, for months, would have more files each time. The caller holds mu.
func (j *Log) isNextDue() bool {
	return j.offset > Header && (len(j.sizes)+1 < ManySegments || j.offset >= longSegment)
}

// Saved records that snapshots contain all changes that were made before the last Rotate returned.
func (j *Log) Saved() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.saved = j.begun
}

// Mark returns the position before which the changes of all records are in the filters.
func (j *Log) Mark() folder.LSN {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.oldestOpen(folder.MakeLSN(j.segment, j.offset))
}

func (j *Log) oldestOpen(least folder.LSN) folder.LSN {
	for at := range j.open {
		least = min(least, at)
	}
	return least
}

// Drop removes the segments that end before a position, first from the list, then from disk.
func (j *Log) Drop(before folder.LSN) error {
	sizes := j.Durable()
	err := j.List.Change(func(listed map[uint32]int64) {
		maps.DeleteFunc(listed, func(n uint32, _ int64) bool { return n < before.Segment() })
		for n := range listed {
			listed[n] = max(listed[n], sizes[n])
		}
	})
	if err != nil {
		return err
	}
	for n := range sizes {
		if n >= before.Segment() {
			continue
		}
		if err := os.Remove(SegmentPath(j.dir, n)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("journal: %w", err)
		}
		j.mu.Lock()
		delete(j.sizes, n)
		j.mu.Unlock()
	}
	return nil
}

// Durable returns the number of bytes on disk for each segment.
func (j *Log) Durable() map[uint32]int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	sizes := maps.Clone(j.sizes)
	if j.file != nil {
		sizes[j.segment] = j.onDisk
	}
	return sizes
}

// Synced returns the position before which all records are on disk.
func (j *Log) Synced() folder.LSN {
	j.mu.Lock()
	defer j.mu.Unlock()
	return folder.MakeLSN(j.segment, j.onDisk)
}

// BytesFrom returns the total size of the segments from a position on.
func (j *Log) BytesFrom(from folder.LSN) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	bytes := j.offset
	for n, size := range j.sizes {
		if n >= from.Segment() {
			bytes += size
		}
	}
	return bytes
}

// SegmentsFrom returns the number of segments from a position on.
func (j *Log) SegmentsFrom(from folder.LSN) (segments int) {
	for n := range j.Durable() {
		if n >= from.Segment() {
			segments++
		}
	}
	return segments
}

// LastFault returns the last failed write, or nil once it is repaired. A disk that has not answered
// for 30 seconds is a fault until it does. LastFault itself does not wait for it.
func (j *Log) LastFault() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if waited := time.Since(j.asked); j.fault == nil && !j.asked.IsZero() && waited > patience {
		return fmt.Errorf("journal %s: the disk has not answered for %s", SegmentPath(j.dir, j.segment), waited.Round(time.Second))
	}
	return j.fault
}

func (j *Log) Close() error {
	err := j.Flush()
	err = errors.Join(err, j.List.raise(j.Durable()))
	j.diskMu.Lock()
	defer j.diskMu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		err = errors.Join(err, j.atDisk(j.file.Close))
	}
	return err
}
