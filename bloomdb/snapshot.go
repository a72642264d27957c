package bloomdb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// The snapshot's layout stands in FORMAT.md.
const (
	endOfSection = 0xffffffff
	maxBlockCode = 1 << 16
	maxSections  = 1 << 10
	rawBlock     = 1 << 31 // in the index: the block is raw

	// rawFrom is the share of cells in use, one in so many, from which on a block is
	// written raw. It is up to five times as long then, but a start reads it at the
	// speed of the disk, where coded cells are one by one.
	rawFrom = 32
)

var snapshotForm = fileForm{"snapshot", "SBSNAP\r\n", 1}

// snapshot is a file of filters of one origin: either one filter of this site's
// own, or all parts held of another site with the place in its stream up to
// which they tell. Reading leaves sections empty: they go to the loader.
type snapshot struct {
	origin   origin
	seq      uint64
	gaps     uint64
	hole     uint64 // of another site: from here on nothing is missing
	sections []section
}

// section is one filter of a snapshot.
type section struct {
	target target
	period int64 // seconds
	shape  shape
	block  func(i uint64, dst []filter.Cell) []filter.Cell // when written
	raw    func(i uint64, dst []byte) ([]byte, int)        // likewise; nil: no block is raw
}

// writeSnapshot replaces the file at path at once: temporary file, fsync,
// rename, fsync of the folder.
func writeSnapshot(path string, encode func(w io.Writer) error) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o600))
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	defer f.Cleanup()
	w := bufio.NewWriterSize(f, 1<<20)
	if err = encode(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// writer returns a function that writes the snapshot.
func (s snapshot) writer(keyID [8]byte) func(io.Writer) error {
	return func(w io.Writer) error { return s.encode(w, keyID) }
}

func (s snapshot) encode(w io.Writer, keyID [8]byte) error {
	if _, err := w.Write(snapshotForm.begin(keyID)); err != nil {
		return err
	}
	head := []byte{byte(len(s.origin.site))}
	head = append(head, s.origin.site...)
	for _, v := range []uint64{s.origin.epoch, s.seq, s.gaps, s.hole} {
		head = binary.BigEndian.AppendUint64(head, v)
	}
	head = binary.BigEndian.AppendUint32(head, uint32(len(s.sections)))
	if err := writeChecked(w, head); err != nil {
		return err
	}
	for _, sec := range s.sections {
		if err := sec.encode(w); err != nil {
			return err
		}
	}
	return nil
}

func (s section) encode(w io.Writer) error {
	head := []byte{byte(s.target.kind)}
	head = binary.BigEndian.AppendUint64(head, uint64(s.target.gen))
	head = binary.BigEndian.AppendUint64(head, uint64(s.period))
	head = s.shape.appendTo(head)
	if err := writeChecked(w, head); err != nil {
		return err
	}
	var cells []filter.Cell
	var frame []byte
	total := uint64(0)
	for i := range s.shape.blocks(s.target.kind) {
		used := 0
		if frame, used = s.appendRaw(frame[:0], i); used == 0 {
			if cells = s.block(i, cells[:0]); len(cells) == 0 {
				continue
			}
			used = len(cells)
			frame = appendBlockHead(frame[:0], uint32(i))
			frame = filter.AppendCells(frame, i*s.target.kind.blockSize(), cells, s.target.kind.counts())
		}
		total += uint64(used)
		if err := writeBlock(w, frame); err != nil {
			return err
		}
	}
	return writeBlock(w, binary.BigEndian.AppendUint64(appendBlockHead(frame[:0], endOfSection), total))
}

// appendRaw appends the frame of a block that is to be written raw, and says how many
// of its cells are in use; 0 for one that is not.
func (s section) appendRaw(dst []byte, i uint64) (frame []byte, used int) {
	if s.raw == nil {
		return dst, 0
	}
	frame, used = s.raw(i, appendBlockHead(dst, uint32(i)|rawBlock))
	if from, to := s.span(i); uint64(used)*rawFrom < to-from {
		return dst, 0
	}
	return frame, used
}

// A block's frame: index, length of what follows, code, CRC32C of all.
func appendBlockHead(dst []byte, index uint32) []byte {
	return append(binary.BigEndian.AppendUint32(dst, index), 0, 0, 0, 0)
}

func writeBlock(w io.Writer, frame []byte) error {
	binary.BigEndian.PutUint32(frame[4:], uint32(len(frame)-8))
	return writeChecked(w, frame)
}

// loader takes what a snapshot holds: section once for each section, and then
// cells or raw for each of its blocks.
type loader interface {
	section(sec section) error
	cells(sec section, cells []filter.Cell) error
	raw(sec section, i uint64, code []byte) error // code is right
}

// readSnapshot reads a file, checks every byte of it, and hands its content to
// load, which may be nil for a check. Damage is a *DamageError; of a
// newer version it returns an error that wraps ErrNewer.
func readSnapshot(path string, keyID [8]byte, load func(s *snapshot) loader) (s snapshot, err error) {
	f, info, err := openLegible(path)
	if err != nil {
		return s, fmt.Errorf("snapshot: %w", err)
	}
	defer f.Close()
	size := min(1<<20, info.Size()+1) // small folders have many small files
	r := &checkedReader{r: bufio.NewReaderSize(f, int(size))}
	s, n, err := decodeSnapshotHead(r, keyID)
	if err == nil {
		var l loader
		if load != nil {
			l = load(&s)
		}
		for range n {
			if err = decodeSection(r, l); err != nil {
				break
			}
		}
	}
	if err == nil {
		if _, e := r.r.ReadByte(); e != io.EOF {
			err = errors.New("bytes after the last section")
		}
	}
	var refused *loadError
	switch {
	case errors.As(err, &refused):
		return s, fmt.Errorf("snapshot %s: %w", path, refused.err)
	case err != nil:
		return s, damaged(path, r.at, err)
	}
	return s, nil
}

// loadError is an error of the loader: the file is good, its content can't be
// taken.
type loadError struct{ err error }

func (e *loadError) Error() string { return e.err.Error() }

// checkedReader reads pieces that end in their CRC32C.
type checkedReader struct {
	r  *bufio.Reader
	at int64 // begin of the piece being read
	b  []byte
}

// more reads n further bytes of the piece.
func (c *checkedReader) more(n int) ([]byte, error) {
	from := len(c.b)
	c.b = append(c.b, make([]byte, n)...)
	switch _, err := io.ReadFull(c.r, c.b[from:]); {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, errors.New("file is cut short")
	case err != nil:
		return nil, err
	}
	return c.b[from:], nil
}

// end reads and compares the checksum, and begins the next piece.
func (c *checkedReader) end() error {
	sum := crc32.Checksum(c.b, castagnoli)
	crc, err := c.more(4)
	if err != nil {
		return err
	}
	if binary.BigEndian.Uint32(crc) != sum {
		return errors.New("checksum is wrong")
	}
	c.next()
	return nil
}

// next begins the next piece.
func (c *checkedReader) next() {
	c.at += int64(len(c.b))
	c.b = c.b[:0]
}

func decodeSnapshotHead(r *checkedReader, keyID [8]byte) (s snapshot, sections uint32, err error) {
	head, err := r.more(fileHead)
	if err != nil {
		return s, 0, err
	}
	if err := snapshotForm.check(head, keyID); err != nil {
		return s, 0, err
	}
	r.next()
	length, err := r.more(1)
	if err != nil {
		return s, 0, err
	}
	n := int(length[0])
	rest, err := r.more(n + 4*8 + 4)
	if err != nil {
		return s, 0, err
	}
	number := func(i int) uint64 { return binary.BigEndian.Uint64(rest[n+8*i:]) }
	s.origin = origin{string(rest[:n]), number(0)}
	s.seq, s.gaps, s.hole = number(1), number(2), number(3)
	sections = binary.BigEndian.Uint32(rest[n+4*8:])
	if err := r.end(); err != nil {
		return s, 0, err
	}
	if !ValidSite(s.origin.site) || sections > maxSections {
		return s, 0, fmt.Errorf("site %q, %d sections", s.origin.site, sections)
	}
	return s, sections, nil
}

func decodeSection(r *checkedReader, l loader) error {
	head, err := r.more(1 + 3*8 + 1)
	if err != nil {
		return err
	}
	sec := section{
		target: target{filterKind(head[0]), int64(binary.BigEndian.Uint64(head[1:]))},
		period: int64(binary.BigEndian.Uint64(head[9:])),
		shape:  decodeShape(binary.BigEndian.Uint64(head[17:]), head[25]),
	}
	if err := r.end(); err != nil {
		return err
	}
	if !sec.target.kind.valid() {
		return sec.target.kind.unknown()
	}
	if err := sec.shape.valid(sec.target.kind); err != nil {
		return fmt.Errorf("%s filter: %w", sec.target.kind, err)
	}
	if l != nil {
		if err := l.section(sec); err != nil {
			return &loadError{err}
		}
	}
	return decodeBlocks(r, sec, l)
}

func decodeBlocks(r *checkedReader, sec section, l loader) error {
	blocks := sec.shape.blocks(sec.target.kind)
	var cells []filter.Cell
	total := uint64(0)
	for next := uint64(0); ; {
		number, code, err := readBlock(r)
		if err != nil {
			return err
		}
		if number == endOfSection {
			if len(code) != 8 || binary.BigEndian.Uint64(code) != total {
				return fmt.Errorf("section has %d cells, its end says otherwise", total)
			}
			return nil
		}
		index := uint64(number &^ rawBlock)
		if index < next || index >= blocks {
			return fmt.Errorf("block %d of %d after block %d", index, blocks, next)
		}
		next = index + 1
		used := 0
		if number&rawBlock != 0 {
			used, err = decodeRaw(sec, index, code, l)
		} else {
			cells, err = decodeCoded(sec, index, code, cells[:0], l)
			used = len(cells)
		}
		if err != nil {
			return err
		}
		total += uint64(used)
	}
}

// readBlock reads a block's frame. What it returns is valid until the next read.
func readBlock(c *checkedReader) (index uint32, code []byte, err error) {
	head, err := c.more(8)
	if err != nil {
		return 0, nil, err
	}
	index, n := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	if n > maxBlockCode {
		return 0, nil, fmt.Errorf("block of %d bytes", n)
	}
	if code, err = c.more(int(n)); err != nil {
		return 0, nil, err
	}
	return index, code, c.end()
}

// span are the first cell of a block and the one behind its last.
func (s section) span(index uint64) (from, to uint64) {
	size := s.target.kind.blockSize()
	return index * size, min((index+1)*size, s.shape.size(s.target.kind))
}

func decodeCoded(sec section, index uint64, code []byte, buf []filter.Cell, l loader) ([]filter.Cell, error) {
	from, to := sec.span(index)
	cells, rest, err := filter.DecodeCells(buf, code, from, to, sec.target.kind.counts())
	if err != nil || len(rest) > 0 {
		return cells, fmt.Errorf("block %d: %w", index, errors.Join(err, trailing(rest)))
	}
	if l != nil {
		if err := l.cells(sec, cells); err != nil {
			return cells, &loadError{err}
		}
	}
	return cells, nil
}

func decodeRaw(sec section, index uint64, code []byte, l loader) (used int, err error) {
	from, to := sec.span(index)
	if used, err = filter.RawCells(code, to-from, sec.target.kind.counts()); err != nil {
		return 0, fmt.Errorf("block %d: %w", index, err)
	}
	if l != nil {
		if err := l.raw(sec, index, code); err != nil {
			return 0, &loadError{err}
		}
	}
	return used, nil
}

// Names of snapshot files.
func ownPath(dir string, t target) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%d.snapshot", t.kind, t.gen))
}

func sitePath(dir string, o origin) string {
	return filepath.Join(dir, fmt.Sprintf("site-%s-%d.snapshot", o.site, o.epoch))
}

// parseOwnPath is the inverse of ownPath.
func parseOwnPath(name string) (t target, ok bool) {
	name, ok = strings.CutSuffix(name, ".snapshot")
	kind, gen, dash := strings.Cut(name, "-")
	if !ok || !dash {
		return t, false
	}
	num, err := strconv.ParseInt(gen, 10, 64)
	for k := spamFilter; k.valid(); k++ {
		if k.String() == kind && err == nil {
			return target{k, num}, true
		}
	}
	return t, false
}
