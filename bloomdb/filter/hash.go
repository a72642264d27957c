package filter

import (
	"encoding/binary"
	"math/bits"
)

// Hash is the source of all positions of one key: four independent 64-bit lanes. It must
// come from a keyed hash. With a public one, a few crafted spams could cover all the bits
// of a chosen message.
type Hash [4]uint64

// HashBytes splits a 32-byte digest into the lanes, big-endian.
func HashBytes(d [32]byte) Hash {
	var h Hash
	for i := range h {
		h[i] = binary.BigEndian.Uint64(d[8*i:])
	}
	return h
}

// Bytes is the inverse of HashBytes.
func (h Hash) Bytes() [32]byte {
	var d [32]byte
	for i, lane := range h {
		binary.BigEndian.PutUint64(d[8*i:], lane)
	}
	return d
}

// Sequence is the endless sequence of one key's positions h_1, h_2, ..., each from 0 to
// m-1. A call returns the next one.
type Sequence func() uint64

// Sequence returns the key's endless sequence of positions from 0 to m-1, of which two may
// be equal. They come from three lanes by triple hashing (a += b, b += c; Dillinger &
// Manolios, "Bloom Filters in Probabilistic Verification", 2004). Double hashing would
// leave an error of some 2n/m^2 that no k reduces. Increments must reach the high bits of a
// lane, because only those affect the position.
func (h Hash) Sequence(m uint64) Sequence {
	a, b, c := h[0], h[1], h[2]
	return func() uint64 {
		pos := Reduce(a, m)
		a += b
		b += c
		return pos
	}
}

// Mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which every bit
// of the result depends on every bit of x.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Reduce maps a lane to 0..n-1 ("fastrange", Lemire 2019). Its bias is below n/2^64, and n
// need not be a power of two.
func Reduce(lane, n uint64) uint64 {
	hi, _ := bits.Mul64(lane, n)
	return hi
}
