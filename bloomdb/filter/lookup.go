package filter

import (
	"runtime"
	"sync/atomic"
)

// Has looks up a key. It returns true for every added key, and for another key with
// probability Error.
func (b *Bits) Has(h Hash) bool { return b.has(h[0], h[1], h[2], h[3]) }

// has reads all bits of half a key without a branch between them, which would be
// mispredicted. An absent key mostly ends with its first line and costs one miss. If most
// keys are present, the processor predicts this and fetches both lines at once.
func (b *Bits) has(h0, h1, h2, h3 uint64) bool {
	if !b.begun.Load() {
		return false
	}
	l0, l1, from := b.shape.lines(h0, h1)
	var hit uint64
	switch two := b.shape.Span != 1; {
	case two && b.shape.K == 8: // the two shapes in use, without calls
		if hit = quarters(b.line(l0), h2); hit != 0 {
			hit = quarters(b.line(l1), h3)
		}
	case two && b.shape.K == 16:
		if hit = allEighths(b.line(l0), h2); hit != 0 {
			hit = allEighths(b.line(l1), h3)
		}
	default:
		if hit = b.probe(l0, h2, 0); hit != 0 {
			hit = b.probe(l1, h3, from)
		}
	}
	runtime.KeepAlive(b.mem)
	return hit != 0
}

func (b *Bits) line(i uint64) *[lineWords]uint64 {
	return (*[lineWords]uint64)(b.mem.w[i*lineWords:])
}

// probe returns 1 if all bits of half a key are set, else 0: the bits that a lane selects
// in K/2 sections of a line.
func (b *Bits) probe(l, lane uint64, from int) uint64 {
	line := b.line(l)
	switch sec := b.shape.section(); {
	case sec == 7 && b.shape.K == 8:
		return quarters(line, lane)
	case sec == 6 && from == 0 && b.shape.K == 8:
		return eighths((*[4]uint64)(line[:4]), lane)
	case sec == 6 && b.shape.K == 8:
		return eighths((*[4]uint64)(line[4:]), lane)
	case sec == 6: // k=16 in two lines
		return allEighths(line, lane)
	default:
		return sections(line, lane, from, b.shape.K/2, sec)
	}
}

// quarters is probe for four sections of 128 bits.
func quarters(line *[lineWords]uint64, lane uint64) uint64 {
	return atomic.LoadUint64(&line[lane>>6&1]) >> (lane & 63) &
		(atomic.LoadUint64(&line[2+lane>>13&1]) >> (lane >> 7 & 63)) &
		(atomic.LoadUint64(&line[4+lane>>20&1]) >> (lane >> 14 & 63)) &
		(atomic.LoadUint64(&line[6+lane>>27&1]) >> (lane >> 21 & 63)) & 1
}

// eighths is probe for four sections of 64 bits.
func eighths(w *[4]uint64, lane uint64) uint64 {
	return atomic.LoadUint64(&w[0]) >> (lane & 63) &
		(atomic.LoadUint64(&w[1]) >> (lane >> 6 & 63)) &
		(atomic.LoadUint64(&w[2]) >> (lane >> 12 & 63)) &
		(atomic.LoadUint64(&w[3]) >> (lane >> 18 & 63)) & 1
}

// allEighths is probe for eight sections of 64 bits.
func allEighths(line *[lineWords]uint64, lane uint64) uint64 {
	return eighths((*[4]uint64)(line[:4]), lane) & eighths((*[4]uint64)(line[4:]), lane>>24)
}

// sections is probe for n sections of any size.
func sections(line *[lineWords]uint64, lane uint64, from, n int, sec uint) uint64 {
	hit := uint64(1)
	for j := uint64(from); j < uint64(from+n); j++ {
		pos := j<<sec | lane&(1<<sec-1)
		hit &= atomic.LoadUint64(&line[pos>>6%lineWords]) >> (pos & 63)
		lane >>= sec
	}
	return hit
}
