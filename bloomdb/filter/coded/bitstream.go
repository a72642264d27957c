package coded

import (
	"encoding/binary"
	"math/bits"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// bitWriter writes bits, starting with the highest bit of each byte.
type bitWriter struct {
	dst []byte
	acc uint64
	n   uint // bits in acc, below 32 between calls
}

// bits writes the low n bits of v. All other bits of v are zero.
func (w *bitWriter) bits(v uint64, n uint) {
	for n > 32 {
		w.bits(v>>32, n-32)
		v, n = v&(1<<32-1), 32
	}
	w.put(v, n)
}

// put writes the low n bits of v, at most 32.
func (w *bitWriter) put(v uint64, n uint) {
	w.acc = w.acc<<n | v
	if w.n += n; w.n >= 32 {
		w.flush()
	}
}

func (w *bitWriter) flush() {
	w.n -= 32
	w.dst = binary.BigEndian.AppendUint32(w.dst, uint32(w.acc>>w.n))
}

// unary writes v ones and a zero.
func (w *bitWriter) unary(v uint64) {
	for ; v >= 32; v -= 32 {
		w.bits(1<<32-1, 32)
	}
	w.bits(1<<(v+1)-2, uint(v)+1)
}

// rice writes v in Rice's code: v>>k in unary, then the low k bits.
func (w *bitWriter) rice(v uint64, k uint) {
	if q := v >> k; q+1+uint64(k) <= 32 {
		w.put((1<<(q+1)-2)<<k|v&(1<<k-1), uint(q)+1+k)
		return
	}
	w.unary(v >> k)
	w.bits(v&(1<<k-1), k)
}

// cells writes the gaps, the first counted from next, and the values. It returns the lowest
// position possible for a later cell. It is rice and gamma in one loop that keeps its state
// in registers.
func (w *bitWriter) cells(cells []filter.Cell, next uint64, k uint, values bool) uint64 {
	dst, acc, n := w.dst, w.acc, w.n
	for _, c := range cells {
		gap := c.Pos - next
		next = c.Pos + 1
		q := gap >> (k & 63)
		code, size := (uint64(2)<<(q&63)-2)<<(k&63)|gap&(1<<(k&63)-1), q+1+uint64(k)
		if values {
			l := uint(bits.Len32(c.Value)) - 1
			code = code<<((2*l+1)&63) | (2<<(l&63)-2)<<(l&63) | uint64(c.Value)&(1<<(l&63)-1)
			size += uint64(2*l + 1)
		}
		if size > 32 {
			w.dst, w.acc, w.n = dst, acc, n
			if w.rice(gap, k); values {
				w.gamma(c.Value)
			}
			dst, acc, n = w.dst, w.acc, w.n
			continue
		}
		acc = acc<<(size&63) | code
		if n += uint(size); n >= 32 {
			n -= 32
			dst = binary.BigEndian.AppendUint32(dst, uint32(acc>>(n&63)))
		}
	}
	w.dst, w.acc, w.n = dst, acc, n
	return next
}

// end pads with zeros to a full byte.
func (w *bitWriter) end() []byte {
	for ; w.n >= 8; w.n -= 8 {
		w.dst = append(w.dst, byte(w.acc>>(w.n-8)))
	}
	if w.n > 0 {
		w.dst = append(w.dst, byte(w.acc<<(8-w.n)))
		w.n = 0
	}
	return w.dst
}

// gamma writes v > 0 in Elias' gamma code.
func (w *bitWriter) gamma(v uint32) {
	n := uint(bits.Len32(v)) - 1
	if n < 16 {
		w.put((1<<(n+1)-2)<<n|uint64(v)&(1<<n-1), 2*n+1)
		return
	}
	w.unary(uint64(n))
	w.bits(uint64(v)&(1<<n-1), n)
}

// bitReader reads the output of bitWriter. Beyond the end it sets short and returns zeros.
type bitReader struct {
	src   []byte
	at    int    // bytes of src taken into acc
	acc   uint64 // the next n bits, highest first, followed by bits of src[at:] or zeros
	n     uint
	short bool
}

// fill reads as many whole bytes into acc as fit.
func (r *bitReader) fill() {
	if len(r.src)-r.at >= 8 {
		r.acc |= binary.BigEndian.Uint64(r.src[r.at:]) >> r.n
		r.at += int(64-r.n) >> 3
		r.n += (64 - r.n) &^ 7
		return
	}
	for r.n <= 56 && r.at < len(r.src) {
		r.acc |= uint64(r.src[r.at]) << (56 - r.n)
		r.at++
		r.n += 8
	}
}

// bits reads n bits, at most 56.
func (r *bitReader) bits(n uint) uint64 {
	if r.n < n {
		if r.fill(); r.n < n {
			r.short = true
			return 0
		}
	}
	v := r.acc >> (64 - n)
	r.acc <<= n
	r.n -= n
	return v
}

func (r *bitReader) unary() uint64 {
	v := uint64(0)
	for {
		if ones := uint(bits.LeadingZeros64(^r.acc)); ones < r.n {
			r.acc <<= ones + 1
			r.n -= ones + 1
			return v + uint64(ones)
		}
		v += uint64(r.n)
		r.acc <<= r.n
		r.n = 0
		if r.fill(); r.n == 0 {
			r.short = true
			return 0
		}
	}
}

// rice reads a value written by bitWriter.rice.
func (r *bitReader) rice(k uint) uint64 {
	if r.n < 32 {
		r.fill()
	}
	// The common case: the whole value is in acc.
	if q := uint(bits.LeadingZeros64(^r.acc)); q+1+k <= r.n {
		v := uint64(q)<<k | r.acc<<(q+1)>>(64-k)
		r.acc <<= q + 1 + k
		r.n -= q + 1 + k
		return v
	}
	return r.unary()<<k | r.bits(k)
}

// offset returns the number of bits of src read.
func (r *bitReader) offset() int { return r.at*8 - int(r.n) }

// gamma reads a value written by bitWriter.gamma. It returns 0 for a value above MaxValue,
// and at the end.
func (r *bitReader) gamma() uint32 {
	l := r.unary()
	if l == 0 && !r.short {
		return 1
	}
	if l >= 20 {
		return 0
	}
	v := uint32(1<<l | r.bits(uint(l)))
	if r.short {
		return 0
	}
	return v
}

// rest returns the bytes after the padded bits.
func (r *bitReader) rest() []byte { return r.src[r.at-int(r.n/8):] }

// isPadded reports whether the bits up to the next full byte are zeros.
func (r *bitReader) isPadded() bool { return r.n%8 == 0 || r.acc>>(64-r.n%8) == 0 }

// seek moves to a bit of src.
func (r *bitReader) seek(bit uint64) {
	r.at = int(bit / 8)
	r.acc, r.n = 0, 0
	r.bits(uint(bit % 8))
}
