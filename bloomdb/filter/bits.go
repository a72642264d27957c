package filter

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"
)

const (
	lineWords = 8   // 64-byte lines
	lineBits  = 512 // bits of a line
)

// BitsShape is the geometry of a Bits filter. Two filters can be joined when
// their shapes and hash keys are equal.
type BitsShape struct {
	Lines uint64 // 64-byte lines; m = 512*Lines
	K     int    // bits a key, half of them in each of its two lines: 8 or 16
}

// MaxLines bounds the size a shape from outside may claim: 8 GiB.
const MaxLines = 1 << 27

// Valid says what is wrong with a shape from outside.
func (s BitsShape) Valid() error {
	if s.K != 8 && s.K != 16 {
		return fmt.Errorf("k is %d, must be 8 or 16", s.K)
	}
	if s.Lines < 2 || s.Lines > MaxLines {
		return fmt.Errorf("%d lines, must be 2 to %d", s.Lines, MaxLines)
	}
	return nil
}

// Size is m, the number of bits.
func (s BitsShape) Size() uint64 { return s.Lines * lineBits }

// Bytes is the memory of a filter of this shape.
func (s BitsShape) Bytes() int64 { return int64(s.Lines) * lineWords * 8 }

// lines picks a key's two lines, which are never the same.
func (s BitsShape) lines(h Hash) (a, b uint64) {
	a, b = reduce(h[0], s.Lines), reduce(h[1], s.Lines)
	if a == b {
		if b++; b == s.Lines {
			b = 0
		}
	}
	return a, b
}

// section is the log2 of the bits in which one probe of a line stands: each
// probe owns 1/(K/2) of the line, so a key's bits are always distinct (H2).
func (s BitsShape) section() int {
	if s.K == 8 {
		return 7
	}
	return 6
}

// Positions appends the K bit positions of a key to dst, ascending.
func (s BitsShape) Positions(h Hash, dst []uint64) []uint64 {
	type half struct{ line, lane uint64 }
	a, b := s.lines(h)
	halves := [2]half{{a, h[2]}, {b, h[3]}}
	if a > b {
		halves[0], halves[1] = halves[1], halves[0]
	}
	sec := s.section()
	for _, half := range halves {
		lane := half.lane
		for j := 0; j < s.K/2; j++ {
			dst = append(dst, half.line*lineBits+uint64(j)<<sec|lane&(1<<sec-1))
			lane >>= sec
		}
	}
	return dst
}

// Error is the chance that a key never added is found, with n keys in the
// filter: the load of a line is Poisson with mean 2n/Lines, and a probe finds
// its bit among the 2^section bits it owns.
func (s BitsShape) Error(n float64) float64 {
	return s.mixture(n, func(fill float64) float64 { return math.Pow(fill, float64(s.K/2)) }, 2)
}

// Fill is the expected share of ones with n keys in the filter.
func (s BitsShape) Fill(n float64) float64 {
	return s.mixture(n, func(fill float64) float64 { return fill }, 1)
}

// mixture is (sum over x of Poisson(x; 2n/Lines) * f(fill of a line with x
// keys)) to the power of times.
func (s BitsShape) mixture(n float64, f func(fill float64) float64, times float64) float64 {
	load := 2 * n / float64(s.Lines)
	if load <= 0 {
		return 0
	}
	miss := math.Log1p(-1 / float64(int(1)<<s.section()))
	spread := 12*math.Sqrt(load) + 12
	sum := 0.0
	for x := math.Max(1, math.Floor(load-spread)); x <= load+spread; x++ {
		lg, _ := math.Lgamma(x + 1)
		sum += math.Exp(x*math.Log(load)-load-lg) * f(-math.Expm1(x*miss))
	}
	return math.Pow(sum, times)
}

// SizeBits is the smallest shape with k bits a key that holds n keys at the
// given error: the chance, between 1e-15 and 0.5, that a key never added is
// found. At errors below 1e-6 a filter with k=16 is smaller; one with k=8 has
// fewer ones, so that parts and deltas of it are.
func SizeBits(n, target float64, k int) BitsShape {
	lo, hi := uint64(2), uint64(MaxLines)
	for lo < hi {
		mid := lo + (hi-lo)/2
		if (BitsShape{Lines: mid, K: k}).Error(n) <= target {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return BitsShape{Lines: lo, K: k}
}

// Bits is a Bloom filter in the blocked two-line layout: a key's K bits stand
// in two lines, so that a lookup costs at most two cache misses. Readers take
// no locks; writers set bits with atomic OR. A reader may miss a Set that is
// still running, never a completed one.
type Bits struct {
	shape BitsShape
	mem   *words
	ones  atomic.Int64
}

// NewBits makes an empty filter.
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

// Ones is the number of set bits.
func (b *Bits) Ones() int64 { return b.ones.Load() }

// Set adds a key.
func (b *Bits) Set(h Hash) {
	var buf [16]uint64
	for _, pos := range b.shape.Positions(h, buf[:0]) {
		b.SetBit(pos)
	}
}

// SetBit sets one bit, pos < Shape().Size(), and says whether it was clear.
func (b *Bits) SetBit(pos uint64) bool {
	defer runtime.KeepAlive(b.mem)
	w, bit := &b.mem.w[pos>>6], uint64(1)<<(pos&63)
	if atomic.LoadUint64(w)&bit != 0 || atomic.OrUint64(w, bit)&bit != 0 {
		return false
	}
	b.ones.Add(1)
	return true
}

// Bit reads one bit, pos < Shape().Size().
func (b *Bits) Bit(pos uint64) bool {
	defer runtime.KeepAlive(b.mem)
	return atomic.LoadUint64(&b.mem.w[pos>>6])>>(pos&63)&1 != 0
}

// Has asks for a key: true for every key that was added, and for another one
// with the chance that Error tells.
func (b *Bits) Has(h Hash) bool {
	if b.ones.Load() == 0 {
		return false
	}
	x, y := b.shape.lines(h)
	ok := b.lineHas(x, h[2]) && b.lineHas(y, h[3])
	runtime.KeepAlive(b.mem)
	return ok
}

func (b *Bits) lineHas(line, lane uint64) bool {
	w := b.mem.w[line*lineWords : line*lineWords+lineWords : line*lineWords+lineWords]
	sec := b.shape.section()
	for j := 0; j < b.shape.K/2; j++ {
		pos := uint64(j)<<sec | lane&(1<<sec-1)
		if atomic.LoadUint64(&w[pos>>6])>>(pos&63)&1 == 0 {
			return false
		}
		lane >>= sec
	}
	return true
}

// Error is the chance, measured on the bits as they stand, that a key never
// added is found. It reads the whole filter.
func (b *Bits) Error() float64 {
	if b.Ones() == 0 {
		return 0
	}
	defer runtime.KeepAlive(b.mem)
	perProbe := lineWords / (b.shape.K / 2) // words in which one probe stands
	scale := 1 / float64(int(64*perProbe))
	sum := 0.0
	for line := uint64(0); line < b.shape.Lines; line++ {
		w := b.mem.w[line*lineWords:][:lineWords]
		p := 1.0
		for j := 0; j < lineWords && p > 0; j += perProbe {
			n := 0
			for i := range perProbe {
				n += bits.OnesCount64(atomic.LoadUint64(&w[j+i]))
			}
			p *= float64(n) * scale
		}
		sum += p
	}
	mean := sum / float64(b.shape.Lines)
	return mean * mean
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
