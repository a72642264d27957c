package digest

import (
	"crypto/hmac"
	"encoding/binary"
	"hash"
	"sync"

	sha256 "github.com/minio/sha256-simd"
)

// Digest is a SHA-256 digest. All digests of the program are made in this file, so that
// the implementation can be changed in one place.
type Digest [sha256.Size]byte

// Sum returns the digest of content under a kind: SHA-256 of the kind (one byte), the
// content's length (8 bytes, big-endian) and the content. Because of the length, no input
// is the beginning of another one.
func Sum(kind Kind, content []byte) Digest {
	s := summers.Get().(*summer)
	defer summers.Put(s)
	s.hash.Reset()
	s.head[0] = byte(kind)
	binary.BigEndian.PutUint64(s.head[1:], uint64(len(content)))
	s.hash.Write(s.head[:])
	s.hash.Write(content)
	s.hash.Sum(s.digest[:0])
	return s.digest
}

// summer holds the state of a sum that would be allocated otherwise.
type summer struct {
	hash   hash.Hash
	head   [9]byte
	digest Digest
}

var summers = sync.Pool{New: func() any { return &summer{hash: sha256.New()} }}

// Keyed makes HMAC-SHA-256 (RFC 2104) digests under one key. It is safe for concurrent
// use.
type Keyed struct{ pool sync.Pool }

// NewKeyed returns a Keyed for key, which should have 32 random bytes.
func NewKeyed(key []byte) *Keyed {
	k := append([]byte(nil), key...)
	return &Keyed{pool: sync.Pool{New: func() any { return &summer{hash: hmac.New(sha256.New, k)} }}}
}

// Sum returns the HMAC-SHA-256 of the concatenation of data.
func (k *Keyed) Sum(data ...[]byte) Digest {
	s := k.pool.Get().(*summer)
	defer k.pool.Put(s)
	s.hash.Reset()
	for _, b := range data {
		s.hash.Write(b)
	}
	s.hash.Sum(s.digest[:0])
	return s.digest
}
