// Package snapshot reads and writes the files in which filters are kept: one own filter, or all
// parts of another site. bloomdb/FORMAT.md describes their bytes.
//
//	File.Writer   origin and position, then each section: its head, its blocks, its end
//	Read          verifies all of it, and passes each section and block to a Loader
//
// It owns no filter and no lock: package store has the filters and loads them, package folder
// replaces a file by a new one.
package snapshot

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// The layout of snapshots is described in bloomdb/FORMAT.md.
const (
	EndOfSection = 0xffffffff
	MaxBlockCode = 1 << 16
	maxSections  = 1 << 10
	RawBlock     = 1 << 31 // flag in the index: the block is raw

	// rawFrom is the fill from which a block is written raw: one cell in so many is in use. A
	// raw block is up to five times as long, but is read at the speed of the disk, where coded
	// cells are decoded one by one.
	rawFrom = 32
)

// Form is the head of each file.
var Form = folder.FileForm{Name: "snapshot", Magic: "SBSNAP\r\n", Version: 1}

// File is a snapshot: filters of one origin. It contains either one of this site's own
// filters, or all parts of another site and the position in its stream. Read returns no
// sections: it passes them to the loader.
type File struct {
	Origin   layout.Origin
	Seq      uint64
	Gaps     uint64
	Hole     uint64 // another site's: the number from which nothing is missing
	Sections []Section
}

// Section is one filter of a snapshot.
type Section struct {
	Target layout.Target
	Period int64 // seconds
	Shape  layout.Shape
	Block  func(i uint64, dst []filter.Cell) []filter.Cell // returns a block's cells; nil when reading
	Raw    func(i uint64, dst []byte) ([]byte, int)        // returns a block's raw form; nil: no block is raw
	Next   func(i uint64) uint64                           // returns the first block from i on that may have cells; nil: i
}

// Writer returns a function that writes the snapshot.
func (s File) Writer(keyID [8]byte) func(io.Writer) error {
	return func(w io.Writer) error { return s.Encode(w, keyID) }
}

func (s File) Encode(w io.Writer, keyID [8]byte) error {
	if _, err := w.Write(Form.Begin(keyID)); err != nil {
		return err
	}
	head := []byte{byte(len(s.Origin.Site))}
	head = append(head, s.Origin.Site...)
	for _, v := range []uint64{s.Origin.Epoch, s.Seq, s.Gaps, s.Hole} {
		head = binary.BigEndian.AppendUint64(head, v)
	}
	head = binary.BigEndian.AppendUint32(head, uint32(len(s.Sections)))
	if err := folder.WriteChecked(w, head); err != nil {
		return err
	}
	for _, sec := range s.Sections {
		if err := sec.encode(w); err != nil {
			return err
		}
	}
	return nil
}

func (s Section) encode(w io.Writer) error {
	head := []byte{byte(s.Target.Kind)}
	head = binary.BigEndian.AppendUint64(head, uint64(s.Target.Gen))
	head = binary.BigEndian.AppendUint64(head, uint64(s.Period))
	head = s.Shape.AppendTo(head)
	if err := folder.WriteChecked(w, head); err != nil {
		return err
	}
	var cells []filter.Cell
	var frame []byte
	total := uint64(0)
	for i := s.next(0); i < s.Shape.Blocks(s.Target.Kind); i = s.next(i + 1) {
		used := 0
		if frame, used = s.AppendRaw(frame[:0], i); used == 0 {
			if cells = s.Block(i, cells[:0]); len(cells) == 0 {
				continue
			}
			used = len(cells)
			frame = AppendBlockHead(frame[:0], uint32(i))
			frame = coded.AppendCells(frame, i*s.Target.Kind.BlockSize(), cells, s.Target.Kind.Counts())
		}
		total += uint64(used)
		if err := writeBlock(w, frame); err != nil {
			return err
		}
	}
	return writeBlock(w, binary.BigEndian.AppendUint64(AppendBlockHead(frame[:0], EndOfSection), total))
}

func (s Section) next(i uint64) uint64 {
	if s.Next == nil {
		return i
	}
	return s.Next(i)
}

// AppendRaw appends the frame of a block that is written raw, and returns the number of its
// cells in use. It returns 0 if the block is not to be written raw.
func (s Section) AppendRaw(dst []byte, i uint64) (frame []byte, used int) {
	if s.Raw == nil {
		return dst, 0
	}
	frame, used = s.Raw(i, AppendBlockHead(dst, uint32(i)|RawBlock))
	if from, to := s.span(i); uint64(used)*rawFrom < to-from {
		return dst, 0
	}
	return frame, used
}

// AppendBlockHead begins the frame of a block: index, length of the rest, code, CRC32C of all.
func AppendBlockHead(dst []byte, index uint32) []byte {
	return append(binary.BigEndian.AppendUint32(dst, index), 0, 0, 0, 0)
}

func writeBlock(w io.Writer, frame []byte) error {
	binary.BigEndian.PutUint32(frame[4:], uint32(len(frame)-8))
	return folder.WriteChecked(w, frame)
}

// Loader receives the content of a snapshot: Section once for each section, then Cells or Raw
// for each of its blocks.
type Loader interface {
	Section(sec Section) error
	Cells(sec Section, cells []filter.Cell) error
	Raw(sec Section, i uint64, code []byte) error // code is verified
}

// Read reads and verifies a file, and passes its content to load. A nil load only
// verifies. Damage is a *DamageError. For a newer version, the error wraps ErrNewer.
func Read(path string, keyID [8]byte, load func(s *File) Loader) (s File, err error) {
	f, info, err := folder.OpenFile(path)
	if err != nil {
		return s, fmt.Errorf("snapshot: %w", err)
	}
	defer f.Close()
	size := min(1<<20, info.Size()+1) // a small folder has many small files
	r := &folder.CheckedReader{R: bufio.NewReaderSize(f, int(size))}
	s, n, err := DecodeHead(r, keyID)
	if err == nil {
		var l Loader
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
		if _, e := r.R.ReadByte(); e != io.EOF {
			err = errors.New("bytes after the last section")
		}
	}
	var refused *loadError
	switch {
	case errors.As(err, &refused):
		return s, fmt.Errorf("snapshot %s: %w", path, refused.err)
	case err != nil:
		return s, folder.Damaged(path, r.At, err)
	}
	return s, nil
}

// loadError is an error of the loader: the file is undamaged, but its content is rejected.
type loadError struct{ err error }

func (e *loadError) Error() string { return e.err.Error() }

func DecodeHead(r *folder.CheckedReader, keyID [8]byte) (s File, sections uint32, err error) {
	head, err := r.More(folder.FileHead)
	if err != nil {
		return s, 0, err
	}
	if err := Form.Check(head, keyID); err != nil {
		return s, 0, err
	}
	r.Next()
	length, err := r.More(1)
	if err != nil {
		return s, 0, err
	}
	n := int(length[0])
	rest, err := r.More(n + 4*8 + 4)
	if err != nil {
		return s, 0, err
	}
	number := func(i int) uint64 { return binary.BigEndian.Uint64(rest[n+8*i:]) }
	s.Origin = layout.Origin{Site: string(rest[:n]), Epoch: number(0)}
	s.Seq, s.Gaps, s.Hole = number(1), number(2), number(3)
	sections = binary.BigEndian.Uint32(rest[n+4*8:])
	if err := r.End(); err != nil {
		return s, 0, err
	}
	if !layout.ValidSite(s.Origin.Site) || sections > maxSections {
		return s, 0, fmt.Errorf("site %q, %d sections", s.Origin.Site, sections)
	}
	return s, sections, nil
}

func decodeSection(r *folder.CheckedReader, l Loader) error {
	head, err := r.More(1 + 3*8 + 1)
	if err != nil {
		return err
	}
	sec := Section{
		Target: layout.Target{Kind: layout.Kind(head[0]), Gen: int64(binary.BigEndian.Uint64(head[1:]))},
		Period: int64(binary.BigEndian.Uint64(head[9:])),
		Shape:  layout.DecodeShape(binary.BigEndian.Uint64(head[17:]), head[25]),
	}
	if err := r.End(); err != nil {
		return err
	}
	if !sec.Target.Kind.Valid() {
		return sec.Target.Kind.Unknown()
	}
	if err := sec.Shape.Valid(sec.Target.Kind); err != nil {
		return fmt.Errorf("%s filter: %w", sec.Target.Kind, err)
	}
	if l != nil {
		if err := l.Section(sec); err != nil {
			return &loadError{err}
		}
	}
	return decodeBlocks(r, sec, l)
}

func decodeBlocks(r *folder.CheckedReader, sec Section, l Loader) error {
	blocks := sec.Shape.Blocks(sec.Target.Kind)
	var cells []filter.Cell
	total := uint64(0)
	for next := uint64(0); ; {
		number, code, err := readBlock(r)
		if err != nil {
			return err
		}
		if number == EndOfSection {
			if len(code) != 8 || binary.BigEndian.Uint64(code) != total {
				return fmt.Errorf("section has %d cells, its end claims another number", total)
			}
			return nil
		}
		index := uint64(number &^ RawBlock)
		if index < next || index >= blocks {
			return fmt.Errorf("block %d of %d, expected block %d or later", index, blocks, next)
		}
		next = index + 1
		used := 0
		if number&RawBlock != 0 {
			used, err = DecodeRaw(sec, index, code, l)
		} else {
			cells, err = DecodeCoded(sec, index, code, cells[:0], l)
			used = len(cells)
		}
		if err != nil {
			return err
		}
		total += uint64(used)
	}
}

// readBlock reads the frame of a block. The result is valid until the next read.
func readBlock(c *folder.CheckedReader) (index uint32, code []byte, err error) {
	head, err := c.More(8)
	if err != nil {
		return 0, nil, err
	}
	index, n := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	if n > MaxBlockCode {
		return 0, nil, fmt.Errorf("block of %d bytes", n)
	}
	if code, err = c.More(int(n)); err != nil {
		return 0, nil, err
	}
	return index, code, c.End()
}

// span returns the first cell of a block, and the one after its last.
func (s Section) span(index uint64) (from, to uint64) {
	size := s.Target.Kind.BlockSize()
	return index * size, min((index+1)*size, s.Shape.Size(s.Target.Kind))
}

func DecodeCoded(sec Section, index uint64, code []byte, buf []filter.Cell, l Loader) ([]filter.Cell, error) {
	from, to := sec.span(index)
	cells, rest, err := coded.DecodeCells(buf, code, from, to, sec.Target.Kind.Counts())
	if err != nil || len(rest) > 0 {
		return cells, fmt.Errorf("block %d: %w", index, errors.Join(err, folder.Trailing(rest)))
	}
	if l != nil {
		if err := l.Cells(sec, cells); err != nil {
			return cells, &loadError{err}
		}
	}
	return cells, nil
}

func DecodeRaw(sec Section, index uint64, code []byte, l Loader) (used int, err error) {
	from, to := sec.span(index)
	if used, err = filter.RawCells(code, to-from, sec.Target.Kind.Counts()); err != nil {
		return 0, fmt.Errorf("block %d: %w", index, err)
	}
	if l != nil {
		if err := l.Raw(sec, index, code); err != nil {
			return 0, &loadError{err}
		}
	}
	return used, nil
}

// OwnPath returns the path of the snapshot of one own filter.
func OwnPath(dir string, t layout.Target) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%d.snapshot", t.Kind, t.Gen))
}

func SitePath(dir string, o layout.Origin) string {
	return filepath.Join(dir, fmt.Sprintf("site-%s-%d.snapshot", o.Site, o.Epoch))
}

// ParseOwnPath is the inverse of OwnPath.
func ParseOwnPath(name string) (t layout.Target, ok bool) {
	name, ok = strings.CutSuffix(name, ".snapshot")
	kind, gen, dash := strings.Cut(name, "-")
	if !ok || !dash {
		return t, false
	}
	num, err := strconv.ParseInt(gen, 10, 64)
	for k := layout.SpamFilter; k.Valid(); k++ {
		if k.String() == kind && err == nil {
			return layout.Target{Kind: k, Gen: num}, true
		}
	}
	return t, false
}
