package layout

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// AppendSectionHead encodes the filter that a section belongs to: kind, generation, period, shape.
func (o *Settings) AppendSectionHead(b []byte, t Target, s Shape) []byte {
	b = append(b, byte(t.Kind))
	b = binary.BigEndian.AppendUint64(b, uint64(t.Gen))
	b = binary.BigEndian.AppendUint64(b, uint64(o.Period(t.Kind)/time.Second))
	return s.AppendTo(b)
}

// Shape is the geometry of any filter, as encoded in snapshots and deltas.
type Shape struct {
	Lines   uint64
	k       int  // bits a key; 4 for counters
	oneLine bool // a key's bits are in one line, not in two
}

func (s Shape) Bits() filter.BitsShape {
	b := filter.BitsShape{Lines: s.Lines, K: s.k}
	if s.oneLine {
		b.Span = 1
	}
	return b
}

func (s Shape) Counts() filter.CountsShape { return filter.CountsShape{Lines: s.Lines} }

func BitsShape(b filter.BitsShape) Shape { return Shape{b.Lines, b.K, b.Span == 1} }

func CountsShape(c filter.CountsShape) Shape { return Shape{c.Lines, 4, false} }

// oneLineFlag marks oneLine in the byte that encodes k.
const oneLineFlag = 0x80

func (s Shape) AppendTo(dst []byte) []byte {
	k := byte(s.k)
	if s.oneLine {
		k |= oneLineFlag
	}
	return append(binary.BigEndian.AppendUint64(dst, s.Lines), k)
}

func DecodeShape(lines uint64, k byte) Shape {
	return Shape{lines, int(k &^ oneLineFlag), k&oneLineFlag != 0}
}

func (s Shape) Size(kind Kind) uint64 {
	if kind.Counts() {
		return s.Counts().Size()
	}
	return s.Bits().Size()
}

func (s Shape) Blocks(kind Kind) uint64 {
	return filter.Blocks(s.Size(kind), kind.Counts())
}

func (s Shape) Valid(kind Kind) error {
	if !kind.Counts() {
		return s.Bits().Valid()
	}
	if s != CountsShape(s.Counts()) {
		return fmt.Errorf("k is %d, must be 4", s.k)
	}
	return s.Counts().Valid()
}

func Differs(there, here Shape) error {
	return fmt.Errorf("%w: there %v, here %v", ErrParameters, there.Bits(), here.Bits())
}
