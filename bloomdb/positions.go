package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// reportHash and countHash give a signature's positions, for those who have the
// federation key only.
func (r *ring) reportHash(s signature.Signature) filter.Hash {
	return filter.HashBytes(r.keyed.Sum(purposeReport, s.Digest[:]))
}

func (r *ring) countHash(s signature.Signature) filter.Hash {
	return filter.HashBytes(r.keyed.Sum(purposeCount, s.Digest[:]))
}

// isOfMessage reports whether a signature stands for its message: that of the body or of the
// text. That of an attachment does not.
func isOfMessage(k signature.Kind) bool { return k == signature.KindBody || k == signature.KindText }

// stretchAll makes positions of seeds.
func stretchAll(seeds []uint64) []filter.Hash {
	hashes := make([]filter.Hash, len(seeds))
	for i, s := range seeds {
		hashes[i] = stretch(s)
	}
	return hashes
}

// stretch makes four lanes of one: the first outputs of SplitMix64 (Steele, Lea,
// Flood 2014).
func stretch(state uint64) (h filter.Hash) {
	for i := range h {
		state += 0x9e3779b97f4a7c15
		h[i] = mix(state)
	}
	return h
}

// mix is the finaliser of SplitMix64.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
