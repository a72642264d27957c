package filter

import (
	"math/bits"
	"runtime"
	"sync/atomic"
)

// Bits is a Bloom filter in the blocked layout. A key's K bits are in one line, or in two
// that a lookup reads at the same time, so that a lookup costs little more than one cache
// miss. Readers take no locks; writers set bits with atomic OR. A reader may miss a Set
// that is still running, but never a completed one.
type Bits struct {
	shape BitsShape
	mem   *words
	begun atomic.Bool // set before the first bit, so that lookups in an empty filter do not touch its memory

	_    [64]byte // keeps writes to ones off the readers' cache line
	ones atomic.Int64
}

// NewBits returns an empty filter.
func NewBits(shape BitsShape) (*Bits, error) {
	if err := shape.Valid(); err != nil {
		return nil, err
	}
	mem, err := newWords(shape.Lines * lineWords)
	if err != nil {
		return nil, err
	}
	return &Bits{shape: shape, mem: mem}, nil
}

// Shape returns the geometry.
func (b *Bits) Shape() BitsShape { return b.shape }

// Ones returns the number of set bits.
func (b *Bits) Ones() int64 { return b.ones.Load() }

// Set adds a key.
func (b *Bits) Set(h Hash) {
	var buf [16]uint64
	b.beginSet()
	fresh := int64(0)
	for _, pos := range b.shape.Positions(h, buf[:0]) {
		if b.raise(pos) {
			fresh++
		}
	}
	runtime.KeepAlive(b.mem)
	b.ones.Add(fresh)
}

// SetCells sets the bits at the cells' positions, which must be below Shape().Size(). It
// may run at the same time as other reads and writes.
func (b *Bits) SetCells(cells []Cell) {
	if len(cells) == 0 {
		return
	}
	b.beginSet()
	fresh := int64(0)
	for _, c := range cells {
		if b.raise(c.Pos) {
			fresh++
		}
	}
	runtime.KeepAlive(b.mem)
	b.ones.Add(fresh)
}

// raise sets a bit without counting it, and reports whether it was clear.
func (b *Bits) raise(pos uint64) bool {
	w, bit := &b.mem.w[pos>>6], uint64(1)<<(pos&63)
	return atomic.LoadUint64(w)&bit == 0 && atomic.OrUint64(w, bit)&bit == 0
}

func (b *Bits) beginSet() {
	if !b.begun.Load() {
		b.begun.Store(true)
	}
}

// Bit reads one bit, pos < Shape().Size().
func (b *Bits) Bit(pos uint64) bool {
	defer runtime.KeepAlive(b.mem)
	return atomic.LoadUint64(&b.mem.w[pos>>6])>>(pos&63)&1 != 0
}

// Error returns the probability, measured on the current bits, that a key never added is
// found. It reads the whole filter.
func (b *Bits) Error() float64 {
	if b.Ones() == 0 {
		return 0
	}
	defer runtime.KeepAlive(b.mem)
	return b.shape.ErrorOf(func(yield func(*Line) bool) {
		for i := range b.shape.Lines {
			if !yield((*Line)(b.line(i))) {
				return
			}
		}
	})
}

// Block appends the set positions of block i to dst, ascending.
func (b *Bits) Block(i uint64, dst []Cell) []Cell {
	defer runtime.KeepAlive(b.mem)
	from := i * bitBlock
	to := min(from+bitBlock, b.shape.Size())
	for pos := from; pos < to; pos += 64 {
		for w := atomic.LoadUint64(&b.mem.w[pos>>6]); w != 0; w &= w - 1 {
			dst = append(dst, Cell{Pos: pos + uint64(bits.TrailingZeros64(w)), Value: 1})
		}
	}
	return dst
}
