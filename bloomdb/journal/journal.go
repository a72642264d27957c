package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/spambloom/spambloom/bloomdb/folder"
)

// Log is the append-only log of own changes, in segments. A record that was
// appended is open until done is called, when its change stands in the filters.
type Log struct {
	dir     string
	KeyID   [8]byte
	List    *SegmentList
	newFile func(path string) (SegmentFile, error)

	mu      sync.Mutex // guards all below
	applied *sync.Cond // an open record was done
	file    SegmentFile
	buf     *bufio.Writer
	segment uint32
	newest  uint32 // the highest segment number that was tried
	offset  int64  // written into buf
	onDisk  int64  // offset that is synced
	open    map[folder.LSN]struct{}
	sizes   map[uint32]int64 // older segments
	fault   error            // a failed write; cleared when a new segment was started
	lost    bool             // something applied may stand in no segment: a snapshot is due

	syncMu sync.Mutex // held by the one who syncs for all
}

// SegmentFile is a file that a segment is written to: an *os.File, or in tests one that fails.
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

// Open starts a new segment after the given ones, which are on disk as long as that,
// and after the number that the identity knows. On a full disk the journal begins with that
// fault.
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
	case errors.Is(err, syscall.ENOSPC):
		j.fault = err // what is known can be asked; reports wait for room
	default:
		return nil, err
	}
	return j, nil
}

// create makes a segment's file, syncs its header and the folder, and lists it. After an
// error there is no file, unless the list may name it.
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
		err = folder.SyncDir(j.dir)
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

// begin makes a created segment the one that is written. The caller holds mu.
func (j *Log) begin(f SegmentFile, segment uint32) {
	j.file, j.buf, j.segment = f, bufio.NewWriterSize(f, 1<<18), segment
	j.offset, j.onDisk = Header, Header
}

// Append adds records, one behind the other. The caller calls done with what it
// returns once their changes stand in the filters.
func (j *Log) Append(records ...Record) (folder.LSN, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault != nil {
		if err := j.repair(); err != nil {
			return 0, err
		}
	}
	at := folder.MakeLSN(j.segment, j.offset)
	for _, r := range records {
		frame := AppendFrame(nil, r, j.offset-j.onDisk)
		if _, err := j.buf.Write(frame); err != nil {
			return 0, j.fail(err)
		}
		j.offset += int64(len(frame))
	}
	j.open[at] = struct{}{}
	return at, nil
}

// Ready reports whether a fault of before is over.
func (j *Log) Ready() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault == nil {
		return nil
	}
	return j.repair()
}

func (j *Log) Done(at folder.LSN) {
	j.mu.Lock()
	delete(j.open, at)
	j.mu.Unlock()
	j.applied.Broadcast()
}

// fail notes a write error. What was not synced is lost and was acknowledged to
// nobody; repair cuts it off.
func (j *Log) fail(err error) error {
	j.fault = fmt.Errorf("journal %s at offset %d: %w", SegmentPath(j.dir, j.segment), j.onDisk, err)
	return j.fault
}

// repair ends a faulty segment at its last synced byte and starts a new one.
// After a failed fsync nothing later in a file can be trusted. The caller holds mu.
func (j *Log) repair() error {
	if j.file != nil {
		if err := folder.CutFile(j.file, j.onDisk); err != nil {
			return j.fail(err)
		}
		j.sizes[j.segment] = j.onDisk
		j.file.Close() // all that counts is synced
		j.file = nil
	}
	j.newest++
	f, err := j.create(j.newest)
	if err != nil {
		j.fault = err
		return err
	}
	j.begin(f, j.newest)
	j.fault, j.lost = nil, true
	return nil
}

// Sync returns when the record at the given place is on disk. One caller syncs
// for all who wait.
func (j *Log) Sync(at folder.LSN) error {
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault != nil {
		if err := j.repair(); err != nil {
			return err
		}
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

// syncFile writes and syncs what was appended so far. Appends go on while the
// disk works; one that fails then may replace the file, which sync notices. Both
// locks are held; mu is let go meanwhile.
func (j *Log) syncFile() {
	if err := j.buf.Flush(); err != nil {
		j.fail(err)
		return
	}
	file, offset := j.file, j.offset
	j.mu.Unlock()
	err := file.Sync()
	j.mu.Lock()
	switch {
	case j.file != file: // given up meanwhile, at the byte that was synced before
	case err != nil:
		j.fail(err)
	default:
		j.onDisk = offset
	}
}

// Flush syncs all that was appended. What a fault lost stands in the filters
// still: SnapshotDue says so.
func (j *Log) Flush() error {
	j.mu.Lock()
	at := folder.MakeLSN(j.segment, Header) // on disk already, unless something follows it
	if j.offset > j.onDisk {
		at = folder.MakeLSN(j.segment, j.offset-1)
	}
	faulty := j.fault != nil
	j.mu.Unlock()
	err := j.Sync(at)
	if faulty && j.LastFault() == nil {
		return nil // repaired: the records of before are what SnapshotDue is for
	}
	return err
}

// SnapshotDue reports whether changes stand in the filters and perhaps in no segment.
func (j *Log) SnapshotDue() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lost
}

// Rotate syncs the segment, starts the next one, and returns its begin, when all
// records before it stand in the filters.
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
	return begin, nil
}

// switchSegment starts the next segment and returns its begin. The slow parts,
// creating and syncing, are done while appends go on.
func (j *Log) switchSegment() (folder.LSN, error) {
	j.syncMu.Lock() // nobody syncs the file that is closed here
	defer j.syncMu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault == nil {
		j.syncFile()
	}
	if j.fault != nil {
		if err := j.repair(); err != nil {
			return 0, err
		}
		return folder.MakeLSN(j.segment, Header), nil
	}
	j.newest++
	segment := j.newest
	j.mu.Unlock()
	fresh, err := j.create(segment)
	j.mu.Lock()
	if err != nil {
		return 0, err // the old segment goes on
	}
	if j.fault != nil || j.newest != segment { // a fault came between; its repair may have been faster
		fresh.Close() // it is listed, and stays without records
		j.sizes[segment] = Header
		if j.fault != nil {
			return 0, j.fault
		}
		return folder.MakeLSN(j.segment, Header), nil
	}
	if err := j.buf.Flush(); err != nil {
		fresh.Close()
		j.sizes[segment] = Header
		return 0, j.fail(err)
	}
	j.replace(fresh, segment)
	return folder.MakeLSN(segment, Header), nil
}

// replace begins a segment, then syncs and closes the one before. Who waits for
// a record in that one waits for syncMu, which is held, like mu.
func (j *Log) replace(fresh SegmentFile, segment uint32) {
	old, number, size, synced := j.file, j.segment, j.offset, j.onDisk
	j.sizes[number] = synced
	j.begin(fresh, segment)
	j.mu.Unlock()
	err := old.Sync()
	j.mu.Lock()
	if err != nil {
		j.lost = true
		folder.CutFile(old, synced) // nothing was acknowledged behind it
	} else {
		j.sizes[number] = size
	}
	old.Close()
}

// Saved says that all before a place stands in snapshots.
func (j *Log) Saved() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lost = false
}

// Mark is the place before which all records stand in the filters.
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

// Drop removes the segments that end before a place. They are no longer listed then.
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
	j.mu.Lock()
	defer j.mu.Unlock()
	for n := range j.sizes {
		if n < before.Segment() {
			if err := os.Remove(SegmentPath(j.dir, n)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("journal: %w", err)
			}
			delete(j.sizes, n)
		}
	}
	return nil
}

// Durable are the lengths of all segments that are on disk.
func (j *Log) Durable() map[uint32]int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	sizes := maps.Clone(j.sizes)
	if j.file != nil {
		sizes[j.segment] = j.onDisk
	}
	return sizes
}

// BytesFrom is the size of the segments that have records from a place on.
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

// LastFault is a failed write that was not yet repaired.
func (j *Log) LastFault() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fault
}

func (j *Log) Close() error {
	err := j.Flush()
	err = errors.Join(err, j.List.raise(j.Durable()))
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		err = errors.Join(err, j.file.Close())
	}
	return err
}
