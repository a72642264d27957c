package filter

import (
	"encoding/binary"
	"math/bits"
)

// bitWriter writes bits from the highest bit of each byte on.
type bitWriter struct {
	dst []byte
	acc uint64
	n   uint // bits in acc, below 8 between calls
}

func (w *bitWriter) bits(v uint64, n uint) {
	for n > 32 {
		w.bits(v>>32, n-32)
		v, n = v&(1<<32-1), 32
	}
	w.acc = w.acc<<n | v
	for w.n += n; w.n >= 8; {
		w.n -= 8
		w.dst = append(w.dst, byte(w.acc>>w.n))
	}
}

// unary writes v ones and a zero.
func (w *bitWriter) unary(v uint64) {
	for ; v >= 32; v -= 32 {
		w.bits(1<<32-1, 32)
	}
	w.bits(1<<(v+1)-2, uint(v)+1)
}

// gamma writes v > 0 in Elias' code.
func (w *bitWriter) gamma(v uint32) {
	n := uint(bits.Len32(v)) - 1
	w.unary(uint64(n))
	w.bits(uint64(v)&(1<<n-1), n)
}

// end pads with zeros to a full byte.
func (w *bitWriter) end() []byte {
	if w.n > 0 {
		w.bits(0, 8-w.n)
	}
	return w.dst
}

// bitReader reads what bitWriter wrote. Beyond the end it sets short and
// returns zeros.
type bitReader struct {
	src   []byte
	at    int    // bytes of src that were taken into acc
	acc   uint64 // the next n bits, highest first; what follows them are bits of src[at:] or zeros
	n     uint
	short bool
}

// fill takes as many whole bytes into acc as fit.
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

// gamma reads what bitWriter.gamma wrote; 0 stands for a value above MaxValue, or
// for an end.
func (r *bitReader) gamma() uint32 {
	l := r.unary()
	if l >= 20 {
		return 0
	}
	v := uint32(1<<l | r.bits(uint(l)))
	if r.short {
		return 0
	}
	return v
}

// rest is what follows the padded bits.
func (r *bitReader) rest() []byte { return r.src[r.at-int(r.n/8):] }

// padded says whether the bits up to the next full byte are zeros.
func (r *bitReader) padded() bool { return r.n%8 == 0 || r.acc>>(64-r.n%8) == 0 }
