package bloomdb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// The journal's layout stands in FORMAT.md.
const (
	journalMagic   = "SBJRNL\r\n"
	journalVersion = 1
	journalHeader  = 8 + 2 + 8 + 4 // magic, version, key id, CRC
	frameHeader    = 4 + 4         // CRC, length
	maxRecord      = 256*32 + 64   // a report of 256 signatures
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is one change of this site's own state. It tells absolute facts, so
// that replaying it twice changes nothing.
type record struct {
	target target
	hashes []filter.Hash // spam, revoked: the keys; counts: one key
	count  uint32        // counts: the count that the key has reached
}

// lsn is a place in the journal: segment number and offset in it.
type lsn uint64

func makeLSN(segment uint32, offset int64) lsn { return lsn(segment)<<40 | lsn(offset) }
func (l lsn) segment() uint32                  { return uint32(l >> 40) }

// journal is the append-only log of own changes, in segments. A record that was
// appended is open until done is called, when its change stands in the filters.
type journal struct {
	dir   string
	keyID [8]byte

	mu      sync.Mutex // guards all below
	applied *sync.Cond // an open record was done
	file    *os.File
	buf     *bufio.Writer
	segment uint32
	offset  int64 // written into buf
	onDisk  int64 // offset that is synced
	open    map[lsn]struct{}
	sizes   map[uint32]int64 // older segments
	fault   error            // a failed write; cleared when the segment was cut back

	syncMu sync.Mutex // held by the one who syncs for all
}

func segmentPath(dir string, segment uint32) string {
	return filepath.Join(dir, fmt.Sprintf("journal-%08d", segment))
}

// openJournal starts a new segment after the given ones.
func openJournal(dir string, keyID [8]byte, older map[uint32]int64) (*journal, error) {
	j := &journal{dir: dir, keyID: keyID, open: make(map[lsn]struct{}), sizes: older}
	j.applied = sync.NewCond(&j.mu)
	for n := range older {
		j.segment = max(j.segment, n)
	}
	return j, j.start(j.segment + 1)
}

// start makes a segment and syncs its header and the folder.
func (j *journal) start(segment uint32) error {
	path := segmentPath(j.dir, segment)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if _, err = f.Write(j.header()); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = syncDir(j.dir)
	}
	if err != nil {
		f.Close()
		os.Remove(path)
		return fmt.Errorf("journal %s: %w", path, err)
	}
	j.file, j.buf, j.segment = f, bufio.NewWriterSize(f, 1<<18), segment
	j.offset, j.onDisk = journalHeader, journalHeader
	return nil
}

func (j *journal) header() []byte {
	b := append([]byte(journalMagic), 0, journalVersion)
	b = append(b, j.keyID[:]...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// append adds a record. The caller calls done with what it returns once the
// change stands in the filters.
func (j *journal) append(r record) (lsn, error) {
	frame := appendFrame(nil, r)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault != nil {
		if err := j.repair(); err != nil {
			return 0, err
		}
	}
	at := makeLSN(j.segment, j.offset)
	if _, err := j.buf.Write(frame); err != nil {
		return 0, j.fail(err)
	}
	j.offset += int64(len(frame))
	j.open[at] = struct{}{}
	return at, nil
}

func (j *journal) done(at lsn) {
	j.mu.Lock()
	delete(j.open, at)
	j.mu.Unlock()
	j.applied.Broadcast()
}

// fail notes a write error. What was not synced is lost and was acknowledged to
// nobody; repair cuts it off.
func (j *journal) fail(err error) error {
	j.fault = fmt.Errorf("journal %s at offset %d: %w", segmentPath(j.dir, j.segment), j.onDisk, err)
	return j.fault
}

// repair ends the segment at its last synced byte and starts a new one. After a
// failed fsync nothing later in a file can be trusted.
func (j *journal) repair() error {
	if j.file != nil {
		if err := j.file.Truncate(j.onDisk); err != nil {
			return j.fail(err)
		}
		j.sizes[j.segment] = j.onDisk
		j.file.Close() // all that counts is synced
		j.file = nil
	}
	if err := j.start(j.segment + 1); err != nil {
		j.fault = err
		return err
	}
	j.fault = nil
	return nil
}

// sync returns when the record at the given place is on disk. One caller syncs
// for all who wait.
func (j *journal) sync(at lsn) error {
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	j.mu.Lock()
	if at.segment() < j.segment || at < makeLSN(j.segment, j.onDisk) {
		defer j.mu.Unlock()
		if at.segment() < j.segment && at >= makeLSN(at.segment(), j.sizes[at.segment()]) {
			return fmt.Errorf("journal %s: the record was lost in a failed write", segmentPath(j.dir, at.segment()))
		}
		return nil
	}
	if j.fault != nil {
		defer j.mu.Unlock()
		return j.fault
	}
	if err := j.buf.Flush(); err != nil {
		defer j.mu.Unlock()
		return j.fail(err)
	}
	file, offset := j.file, j.offset
	j.mu.Unlock() // appends go on while the disk works; switchSegment waits
	err := file.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		return j.fail(err)
	}
	j.onDisk = offset
	return nil
}

// flush syncs all that was appended.
func (j *journal) flush() error {
	j.mu.Lock()
	at := makeLSN(j.segment, j.offset-1)
	j.mu.Unlock()
	return j.sync(at)
}

// rotate syncs the segment, starts the next one, and returns its begin, when all
// records before it stand in the filters.
func (j *journal) rotate() (lsn, error) {
	if err := j.flush(); err != nil {
		return 0, err
	}
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

// switchSegment starts the next segment and returns its begin.
func (j *journal) switchSegment() (lsn, error) {
	j.syncMu.Lock() // nobody syncs the file that is closed here
	defer j.syncMu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fault == nil {
		if err := j.buf.Flush(); err != nil {
			return 0, j.fail(err)
		}
		if err := j.file.Sync(); err != nil {
			return 0, j.fail(err)
		}
		j.onDisk = j.offset
	}
	if err := j.repair(); err != nil {
		return 0, err
	}
	return makeLSN(j.segment, journalHeader), nil
}

// mark is the place before which all records stand in the filters.
func (j *journal) mark() lsn {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.oldestOpen(makeLSN(j.segment, j.offset))
}

func (j *journal) oldestOpen(least lsn) lsn {
	for at := range j.open {
		least = min(least, at)
	}
	return least
}

// drop removes the segments that end before a place.
func (j *journal) drop(before lsn) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for n := range j.sizes {
		if n < before.segment() {
			if err := os.Remove(segmentPath(j.dir, n)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("journal: %w", err)
			}
			delete(j.sizes, n)
		}
	}
	return nil
}

// bytesFrom is the size of the segments that have records from a place on.
func (j *journal) bytesFrom(from lsn) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	bytes := j.offset
	for n, size := range j.sizes {
		if n >= from.segment() {
			bytes += size
		}
	}
	return bytes
}

// lastFault is a failed write that was not yet repaired.
func (j *journal) lastFault() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fault
}

func (j *journal) close() error {
	err := j.flush()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		err = errors.Join(err, j.file.Close())
	}
	return err
}

// appendFrame codes a record with its frame: CRC32C over length and body,
// length, body.
func appendFrame(dst []byte, r record) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, frameHeader)...)
	dst = append(dst, byte(r.target.kind))
	dst = binary.AppendVarint(dst, r.target.gen)
	if r.target.kind == countFilter {
		dst = binary.AppendUvarint(dst, uint64(r.count))
		dst = binary.BigEndian.AppendUint64(dst, r.hashes[0][0])
		dst = binary.BigEndian.AppendUint64(dst, r.hashes[0][1])
	} else {
		for _, h := range r.hashes {
			b := h.Bytes()
			dst = append(dst, b[:]...)
		}
	}
	binary.BigEndian.PutUint32(dst[at+4:], uint32(len(dst)-at-frameHeader))
	binary.BigEndian.PutUint32(dst[at:], crc32.Checksum(dst[at+4:], castagnoli))
	return dst
}

// decodeRecord reads a frame's body.
func decodeRecord(body []byte) (r record, err error) {
	if len(body) < 2 {
		return r, fmt.Errorf("record of %d bytes", len(body))
	}
	r.target.kind = filterKind(body[0])
	if !r.target.kind.valid() {
		return r, fmt.Errorf("unknown record type %d", body[0])
	}
	gen, n := binary.Varint(body[1:])
	if n <= 0 {
		return r, errors.New("generation is cut short")
	}
	r.target.gen, body = gen, body[1+n:]
	if r.target.kind != countFilter {
		return decodeKeys(r, body)
	}
	count, n := binary.Uvarint(body)
	if n <= 0 || count < 1 || count > filter.MaxValue || len(body) != n+16 {
		return r, errors.New("count record has a wrong length or value")
	}
	r.count = uint32(count)
	r.hashes = []filter.Hash{{binary.BigEndian.Uint64(body[n:]), binary.BigEndian.Uint64(body[n+8:])}}
	return r, nil
}

func decodeKeys(r record, body []byte) (record, error) {
	if len(body) == 0 || len(body)%32 != 0 {
		return r, fmt.Errorf("%d bytes of keys, must be a multiple of 32", len(body))
	}
	for b := range slices.Chunk(body, 32) {
		r.hashes = append(r.hashes, filter.HashBytes([32]byte(b)))
	}
	return r, nil
}

// readSegment calls apply for each record of a segment and returns where its
// valid records end. A tail that a crash has torn is no error when the segment
// is the last one; damage before valid records always is.
func readSegment(path string, keyID [8]byte, last bool, apply func(at int64, r record) error) (size int64, torn int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, fmt.Errorf("journal: %w", err)
	}
	if len(data) < journalHeader {
		if last {
			return 0, int64(len(data)), nil // the crash came while the segment was made
		}
		return 0, 0, damaged(path, int64(len(data)), errors.New("header is cut short"))
	}
	j := journal{keyID: keyID}
	if want := j.header(); string(data[:journalHeader]) != string(want) {
		return 0, 0, damaged(path, 0, headerFault(data, want))
	}
	for at := journalHeader; at < len(data); {
		body, err := frameAt(data, at)
		if err != nil {
			if last && !validFrameAfter(data, at+1) {
				return int64(at), int64(len(data) - at), nil
			}
			return 0, 0, damaged(path, int64(at), err)
		}
		r, err := decodeRecord(body)
		if err == nil {
			err = apply(int64(at), r)
		}
		if err != nil {
			return 0, 0, damaged(path, int64(at), err)
		}
		at += frameHeader + len(body)
	}
	return int64(len(data)), 0, nil
}

func headerFault(data, want []byte) error {
	switch {
	case string(data[:8]) != journalMagic:
		return errors.New("not a journal: wrong magic")
	case string(data[8:10]) != string(want[8:10]):
		return fmt.Errorf("journal version %d, this program reads %d", binary.BigEndian.Uint16(data[8:]), journalVersion)
	case crc32.Checksum(data[:journalHeader-4], castagnoli) != binary.BigEndian.Uint32(data[journalHeader-4:]):
		return errors.New("header checksum is wrong")
	}
	return fmt.Errorf("made under federation key %x, the key given is %x", data[10:18], want[10:18])
}

// frameAt returns the body of the frame at an offset.
func frameAt(data []byte, at int) ([]byte, error) {
	if len(data)-at < frameHeader {
		return nil, io.ErrUnexpectedEOF
	}
	n := binary.BigEndian.Uint32(data[at+4:])
	if n < 2 || n > maxRecord {
		return nil, fmt.Errorf("record length %d", n)
	}
	end := at + frameHeader + int(n)
	if end > len(data) {
		return nil, io.ErrUnexpectedEOF
	}
	if crc32.Checksum(data[at+4:end], castagnoli) != binary.BigEndian.Uint32(data[at:]) {
		return nil, errors.New("record checksum is wrong")
	}
	return data[at+frameHeader : end], nil
}

// validFrameAfter tells damage from a torn tail: after a tear nothing valid
// follows.
func validFrameAfter(data []byte, from int) bool {
	for at := from; at < len(data)-frameHeader; at++ {
		if body, err := frameAt(data, at); err == nil {
			if _, err := decodeRecord(body); err == nil {
				return true
			}
		}
	}
	return false
}
