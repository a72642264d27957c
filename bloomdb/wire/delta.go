package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// The layout of deltas is described in bloomdb/FORMAT.md.
const maxCellsTotal = 1 << 20 // cells in one record at most, whatever it claims

// DeltaSection is the changed cells of one filter: ascending positions and absolute values.
type DeltaSection struct {
	Target layout.Target
	Period int64 // seconds; set by the decoder
	Shape  layout.Shape
	Cells  []filter.Cell
}

// DeltaBody is a decoded record.
type DeltaBody struct {
	Head
	Origin   layout.Origin
	Sections []DeltaSection
}

// EncodeDelta encodes and seals a delta. prev is the number before which nothing is missing.
func (sl *Sealer) EncodeDelta(d Delta, prev uint64, sections []DeltaSection) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(sections)))
	for _, s := range sections {
		b = sl.Opt.AppendSectionHead(b, s.Target, s.Shape)
		at := len(b)
		b = s.appendCells(append(b, 0, 0, 0, 0))
		binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	}
	h := Head{Type: RecordDelta, Site: d.Site, Epoch: d.Epoch, Seq: d.Seq, Prev: prev, Made: sl.Opt.Now()}
	return sl.EncodeRecord(h, b)
}

// DecodeSectionHead decodes the head of a section. It rejects filters that are never published.
func DecodeSectionHead(r *RecordReader) (s DeltaSection, err error) {
	s, err = decodeFilterHead(r)
	if err == nil && s.Target.Kind == layout.DomainFilter {
		err = fmt.Errorf("counts of %s are never published", s.Target.Kind)
	}
	return s, err
}

// decodeFilterHead decodes which filter of which generation a section belongs to.
func decodeFilterHead(r *RecordReader) (s DeltaSection, err error) {
	s.Target.Kind = layout.Kind(r.u8())
	s.Target.Gen, s.Period = int64(r.u64()), int64(r.u64())
	s.Shape = layout.DecodeShape(r.u64(), r.Take(1)[0])
	switch {
	case r.Fail:
		return s, ErrShort
	case !s.Target.Kind.Valid():
		return s, s.Target.Kind.Unknown()
	}
	if err := s.Shape.Valid(s.Target.Kind); err != nil {
		return s, fmt.Errorf("%s filter: %w", s.Target.Kind, err)
	}
	return s, nil
}

// DecodeDelta verifies and decodes a record.
func (s *Sealer) DecodeDelta(data []byte) (d DeltaBody, err error) {
	h, body, err := s.OpenRecord(data, RecordDelta)
	if err != nil {
		return d, err
	}
	d.Head, d.Origin = h, h.Origin()
	if err := s.CheckClock(h); err != nil {
		return d, err
	}
	if d.Sections, err = decodeSections(&RecordReader{B: body}); err != nil {
		return d, fmt.Errorf("%s: %w", h, err)
	}
	return d, nil
}

func decodeSections(r *RecordReader) ([]DeltaSection, error) {
	var sections []DeltaSection
	cells := 0
	for n := r.u16(); n > 0; n-- {
		s, err := DecodeSectionHead(r)
		if err != nil {
			return nil, err
		}
		code := r.Take(int(r.U32()))
		if r.Fail {
			return nil, ErrShort
		}
		if s.Cells, err = s.decodeCells(code, maxCellsTotal-cells); err != nil {
			return nil, fmt.Errorf("%s generation %d: %w", s.Target.Kind, s.Target.Gen, err)
		}
		cells += len(s.Cells)
		if n := len(sections); n > 0 && !sections[n-1].Target.Before(s.Target) {
			return nil, fmt.Errorf("%s generation %d follows %s generation %d, out of order",
				s.Target.Kind, s.Target.Gen, sections[n-1].Target.Kind, sections[n-1].Target.Gen)
		}
		sections = append(sections, s)
	}
	if r.Fail {
		return nil, ErrShort
	}
	return sections, folder.Trailing(r.B)
}

func (s DeltaSection) appendCells(dst []byte) []byte {
	if s.Target.Kind.Counts() {
		return coded.AppendCountLines(dst, s.Shape.Counts(), s.Cells)
	}
	return coded.AppendLines(dst, s.Shape.Bits(), s.Cells)
}

// decodeCells decodes at most room cells.
func (s DeltaSection) decodeCells(code []byte, room int) (cells []filter.Cell, err error) {
	var rest []byte
	if s.Target.Kind.Counts() {
		cells, rest, err = coded.DecodeCountLines(nil, code, s.Shape.Counts(), room)
	} else {
		cells, rest, err = coded.DecodeLines(nil, code, s.Shape.Bits(), room)
	}
	return cells, errors.Join(err, folder.Trailing(rest))
}

// Delta is an encoded delta and its number.
type Delta struct {
	Site  string
	Epoch uint64 // larger for a state folder that was made later
	Seq   uint64 // 1, 2, 3, ... within an epoch
	Data  []byte // the record; at most 1 MiB
	More  bool   // changes that were pending when it was made are left for the next delta
}

// MaxDelta is the maximum size of a record in bytes.
const MaxDelta = 1 << 20
