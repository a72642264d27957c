package bloomdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// The layout stands in FORMAT.md.
const maxCellsTotal = 1 << 20 // of one record, whatever its bytes say

// deltaSection is the changed cells of one filter: positions ascending, absolute
// values.
type deltaSection struct {
	target target
	period int64 // seconds; set by the decoder
	shape  shape
	cells  []filter.Cell
}

// delta is a decoded record.
type delta struct {
	Head
	origin   origin
	sections []deltaSection
}

// encodeDelta makes the record of a delta behind another one.
func (sl *sealer) encodeDelta(d Delta, prev uint64, sections []deltaSection) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(sections)))
	for _, s := range sections {
		b = sl.opt.appendSectionHead(b, s.target, s.shape)
		at := len(b)
		b = s.appendCells(append(b, 0, 0, 0, 0))
		binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	}
	h := Head{Type: RecordDelta, Site: d.Site, Epoch: d.Epoch, Seq: d.Seq, Prev: prev, Made: sl.opt.Now()}
	return sl.encodeRecord(h, b)
}

// appendSectionHead codes which filter a section is of.
func (o *settings) appendSectionHead(b []byte, t target, s shape) []byte {
	b = append(b, byte(t.kind))
	b = binary.BigEndian.AppendUint64(b, uint64(t.gen))
	b = binary.BigEndian.AppendUint64(b, uint64(o.period(t.kind)/time.Second))
	return s.appendTo(b)
}

// decodeSectionHead reads it, and refuses filters that no site tells.
func decodeSectionHead(r *recordReader) (s deltaSection, err error) {
	s, err = decodeFilterHead(r)
	if err == nil && s.target.kind == domainFilter {
		err = fmt.Errorf("counts of %s, which no site tells", s.target.kind)
	}
	return s, err
}

// decodeFilterHead reads which filter of which generation a section is of.
func decodeFilterHead(r *recordReader) (s deltaSection, err error) {
	s.target.kind = filterKind(r.u8())
	s.target.gen, s.period = int64(r.u64()), int64(r.u64())
	s.shape = decodeShape(r.u64(), r.take(1)[0])
	switch {
	case r.fail:
		return s, errShort
	case !s.target.kind.valid():
		return s, s.target.kind.unknown()
	}
	if err := s.shape.valid(s.target.kind); err != nil {
		return s, fmt.Errorf("%s filter: %w", s.target.kind, err)
	}
	return s, nil
}

// decodeDelta checks and reads a whole record.
func (s *sealer) decodeDelta(data []byte) (d delta, err error) {
	h, body, err := s.openRecord(data, RecordDelta)
	if err != nil {
		return d, err
	}
	d.Head, d.origin = h, h.origin()
	if err := s.checkClock(h); err != nil {
		return d, err
	}
	if d.sections, err = decodeSections(&recordReader{b: body}); err != nil {
		return d, fmt.Errorf("%s: %w", h, err)
	}
	return d, nil
}

func decodeSections(r *recordReader) ([]deltaSection, error) {
	var sections []deltaSection
	cells := 0
	for n := r.u16(); n > 0; n-- {
		s, err := decodeSectionHead(r)
		if err != nil {
			return nil, err
		}
		code := r.take(int(r.u32()))
		if r.fail {
			return nil, errShort
		}
		if s.cells, err = s.decodeCells(code, maxCellsTotal-cells); err != nil {
			return nil, fmt.Errorf("%s generation %d: %w", s.target.kind, s.target.gen, err)
		}
		cells += len(s.cells)
		if n := len(sections); n > 0 && !sections[n-1].target.before(s.target) {
			return nil, fmt.Errorf("%s generation %d stands after %s generation %d",
				s.target.kind, s.target.gen, sections[n-1].target.kind, sections[n-1].target.gen)
		}
		sections = append(sections, s)
	}
	if r.fail {
		return nil, errShort
	}
	return sections, trailing(r.b)
}

func (s deltaSection) appendCells(dst []byte) []byte {
	if s.target.kind.counts() {
		return filter.AppendCountLines(dst, s.shape.counts(), s.cells)
	}
	return filter.AppendLines(dst, s.shape.bits(), s.cells)
}

// decodeCells reads at most room cells.
func (s deltaSection) decodeCells(code []byte, room int) (cells []filter.Cell, err error) {
	var rest []byte
	if s.target.kind.counts() {
		cells, rest, err = filter.DecodeCountLines(nil, code, s.shape.counts(), room)
	} else {
		cells, rest, err = filter.DecodeLines(nil, code, s.shape.bits(), room)
	}
	return cells, errors.Join(err, trailing(rest))
}
