package keyring

import (
	"encoding/binary"
	"math/bits"

	"github.com/spambloom/spambloom/signature"
)

// Sip is a key of SipHash.
type Sip [2]uint64

// NewSip returns the key in a digest's first 16 bytes.
func NewSip(d signature.Digest) Sip {
	return Sip{binary.BigEndian.Uint64(d[:]), binary.BigEndian.Uint64(d[8:])}
}

// sum is SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012, section
// 2), a keyed hash at a fortieth of the cost of an HMAC. Without the key, its values are
// indistinguishable from random numbers.
func (k Sip) sum(data []byte) uint64 {
	s := sipState{
		k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d,
		k[0] ^ 0x6c7967656e657261, k[1] ^ 0x7465646279746573,
	}
	last := uint64(len(data)) << 56
	for ; len(data) >= 8; data = data[8:] {
		s = s.word(binary.LittleEndian.Uint64(data))
	}
	for i, b := range data {
		last |= uint64(b) << (8 * i)
	}
	s = s.word(last)
	s.v2 ^= 0xff
	s = s.round().round().round().round()
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3
}

// Hash returns the hash of x.
func (k Sip) Hash(x uint64) uint64 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], x)
	return k.sum(b[:])
}

// sipState is the state of a hash in progress.
type sipState struct{ v0, v1, v2, v3 uint64 }

func (s sipState) word(m uint64) sipState {
	s.v3 ^= m
	s = s.round().round()
	s.v0 ^= m
	return s
}

func (s sipState) round() sipState {
	s.v0 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 13) ^ s.v0
	s.v0 = bits.RotateLeft64(s.v0, 32)
	s.v2 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 16) ^ s.v2
	s.v0 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 21) ^ s.v0
	s.v2 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 17) ^ s.v2
	s.v2 = bits.RotateLeft64(s.v2, 32)
	return s
}
