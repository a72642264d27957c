package bloomdb

import (
	"bytes"
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// exportTaker takes what an export holds, in its order.
type exportTaker interface {
	head(h exportHead) error
	never(e *neverEntry) error
	retouched(s deltaSection, keys []retouchedKey) error
	section(s deltaSection) (wanted bool, err error) // once for each filter; its cells come if it is wanted
	cells(s deltaSection, cells []filter.Cell) error
}

// readExportHeader returns the number of parts.
func readExportHeader(r io.Reader) (parts int, err error) {
	var b [exportHeader]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, cutShort(err)
	}
	switch v := binary.BigEndian.Uint16(b[8:]); {
	case string(b[:8]) != exportMagic:
		return 0, errors.New("not an export of filters: wrong magic")
	case v != exportVersion:
		return 0, fmt.Errorf("version %d, this program reads %d", v, exportVersion)
	case b[10] < 1 || b[10] > 2:
		return 0, fmt.Errorf("%d parts, must be 1 or 2", b[10])
	}
	return int(b[10]), nil
}

// cutShort words the end of a stream; a reader's other errors stand.
func cutShort(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut short")
	}
	return err
}

// exportReader reads the frames of a part.
type exportReader struct {
	db    *DB
	r     io.Reader
	chain frameChain
	frame []byte
	keep  io.Writer // takes each frame once it is proven; nil: nobody

	last  filterPlace // that was read
	taken bool        // the taker wants the cells of last
	cell  []filter.Cell
}

// filterPlace is where in an export the reader stands: filters stand in one order, and
// their blocks ascend.
type filterPlace struct {
	rank  int // of the kind in exportOrder; -1 before the first
	gen   int64
	shape shape
	block uint64 // the least that may come
}

// readPart reads a part of the database's federation key up to its end, and hands what
// it holds to take; nil: it is only proven.
func (db *DB) readPart(r io.Reader, keep io.Writer, take exportTaker) error {
	e := &exportReader{db: db, r: r, keep: keep, chain: frameChain{db: db}, last: filterPlace{rank: -1}}
	for {
		kind, body, err := e.next()
		if err == nil && (kind == frameHead) != (e.chain.number == 1) {
			err = errors.New("its head is not its first frame")
		}
		if err == nil {
			err = e.take(kind, body, take)
		}
		if err != nil {
			return fmt.Errorf("part of federation key %x, frame %d: %w", db.keyID, e.chain.number, err)
		}
		if kind == frameEnd {
			return nil
		}
	}
}

// next reads a frame and proves it.
func (e *exportReader) next() (kind frameKind, body *recordReader, err error) {
	e.frame = slices.Grow(e.frame[:0], 4)[:4]
	if _, err := io.ReadFull(e.r, e.frame); err != nil {
		return 0, nil, cutShort(err)
	}
	n := int(binary.BigEndian.Uint32(e.frame))
	if n < 1 || n > maxExportBody {
		return 0, nil, fmt.Errorf("it has %d bytes, must be 1 to %d", n, maxExportBody)
	}
	e.frame = slices.Grow(e.frame, n+macSize)[:4+n+macSize]
	if _, err := io.ReadFull(e.r, e.frame[4:]); err != nil {
		return 0, nil, cutShort(err)
	}
	if mac := e.chain.next(e.frame[:4+n]); !hmac.Equal(mac[:], e.frame[4+n:]) {
		return 0, nil, errors.New("authentication code is wrong: torn, or not made with this key")
	}
	if e.keep != nil {
		if _, err := e.keep.Write(e.frame); err != nil {
			return 0, nil, err
		}
	}
	return frameKind(e.frame[4]), &recordReader{b: e.frame[5 : 4+n]}, nil
}

func (e *exportReader) take(kind frameKind, r *recordReader, take exportTaker) (err error) {
	switch kind {
	case frameHead:
		err = e.takeHead(r, take)
	case frameNever:
		err = e.takeNever(r, take)
	case frameRetouched:
		err = e.takeRetouched(r, take)
	case frameCells:
		err = e.takeCells(r, take)
	case frameEnd:
	default:
		return fmt.Errorf("kind %d, which this program does not know: made by a newer version", kind)
	}
	if err == nil && r.fail {
		err = errShort
	}
	if err == nil {
		err = trailing(r.b)
	}
	return err
}

func (e *exportReader) takeHead(r *recordReader, take exportTaker) error {
	var h exportHead
	h.origin.site = string(r.take(r.u8()))
	h.origin.epoch = r.u64()
	ms := r.u64()
	for i := range h.shapes {
		h.shapes[i] = decodeShape(r.u64(), r.take(1)[0])
	}
	switch {
	case r.fail:
		return errShort
	case !ValidSite(h.origin.site) || h.origin.epoch == 0 || ms > 1<<53:
		return fmt.Errorf("it is of site %q, epoch %d, made at %d ms", h.origin.site, h.origin.epoch, ms)
	}
	h.made = time.UnixMilli(int64(ms)).UTC()
	if take == nil {
		return nil
	}
	return take.head(h)
}

func (e *exportReader) takeNever(r *recordReader, take exportTaker) error {
	for len(r.b) > 0 {
		code := r.take(int(r.u32()))
		if r.fail {
			return errShort
		}
		entry, err := decodeNever(bytes.Clone(code), e.db.keyID)
		if err != nil {
			return fmt.Errorf("never-list: %w", err)
		}
		if take != nil {
			if err := take.never(entry); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *exportReader) takeRetouched(r *recordReader, take exportTaker) error {
	s, err := decodeFilterHead(r)
	if err != nil {
		return err
	}
	if s.target.kind != spamFilter {
		return fmt.Errorf("retouched keys of a %s filter", s.target.kind)
	}
	keys, err := decodeRetouched(r.take(len(r.b)))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(keys, func(k retouchedKey) bool { return k.bit == takenBack }) {
		return errors.New("one of the retouched keys is not retouched")
	}
	if take == nil {
		return nil
	}
	return take.retouched(s, keys)
}

func (e *exportReader) takeCells(r *recordReader, take exportTaker) error {
	s, err := decodeFilterHead(r)
	if err != nil {
		return err
	}
	here := filterPlace{rank: slices.Index(exportOrder[:], s.target.kind), gen: s.target.gen, shape: s.shape}
	what := fmt.Sprintf("%s generation %d", s.target.kind, s.target.gen)
	switch last := e.last; {
	case here.rank == last.rank && here.gen == last.gen && here.shape == last.shape: // it goes on
	case here.rank < last.rank || here.rank == last.rank && here.gen <= last.gen:
		return fmt.Errorf("%s stands in the wrong place", what)
	default:
		if e.last, e.taken = here, false; take != nil {
			if e.taken, err = take.section(s); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
	}
	for len(r.b) > 0 {
		if err := e.takeBlock(s, r, take); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// takeBlock reads one block of cells.
func (e *exportReader) takeBlock(s deltaSection, r *recordReader, take exportTaker) error {
	index := uint64(r.u32())
	code := r.take(int(r.u32()))
	if r.fail || index < e.last.block || index >= s.shape.blocks(s.target.kind) || len(code) > maxBlockCode {
		return fmt.Errorf("block %d of %d bytes; %d may come next", index, len(code), e.last.block)
	}
	if e.last.block = index + 1; !e.taken {
		return nil
	}
	from, counts := index*s.target.kind.blockSize(), s.target.kind.counts()
	to := min(from+s.target.kind.blockSize(), s.shape.size(s.target.kind))
	cells, rest, err := filter.DecodeCells(e.cell[:0], code, from, to, counts)
	if err == nil {
		err = trailing(rest)
	}
	if err != nil {
		return fmt.Errorf("block %d: %w", index, err)
	}
	e.cell = cells
	return take.cells(s, cells)
}
