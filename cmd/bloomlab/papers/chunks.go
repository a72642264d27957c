package papers

import "fmt"

// Chunks cuts a digest into k pieces of equal length and takes each, as a
// big-endian number, modulo m (Fan et al., "Summary Cache", 2000; Yan & Cho
// section III, "choosing proper hash functions"). A piece of b/k bits has only 2^(b/k)
// values, so at most that many bits of a larger filter are ever used: see Utilisable.
// Because the digest of a message is public, a few crafted messages can cover all bits of
// a chosen one. The program itself uses a keyed filter.Hash. A Chunks is immutable and
// safe for concurrent use.
type Chunks struct {
	m     uint64
	k     int
	bytes int
}

// NewChunks cuts digests of so many bytes (16 for MD5, 20 for SHA-1, 32 for
// SHA-256; at most 64) into k pieces; k must divide the number of bits.
func NewChunks(m uint64, k, digestBytes int) (Chunks, error) {
	if err := validSize(m, k); err != nil {
		return Chunks{}, fmt.Errorf("chunks of a digest: %w", err)
	}
	if digestBytes < 1 || digestBytes > 64 {
		return Chunks{}, fmt.Errorf("chunks of a digest: it has %d bytes, must be 1 to 64", digestBytes)
	}
	if digestBytes*8%k != 0 {
		return Chunks{}, fmt.Errorf("chunks of a digest: k is %d, must divide %d bits", k, digestBytes*8)
	}
	return Chunks{m: m, k: k, bytes: digestBytes}, nil
}

// Utilisable is the number of bits of the filter that a key can ever have:
// min(m, 2^(bits/k)). With MD5 and k=8 it is 65,536, with SHA-256 and k=16 too.
// The figure is optimistic: if 2^(bits/k) is slightly above m, and not a multiple of it,
// the modulus makes low positions likelier than high ones.
func (c Chunks) Utilisable() uint64 {
	if width := c.width(); width < 64 {
		return min(c.m, 1<<width)
	}
	return c.m
}

// width is the length of a piece in bits.
func (c Chunks) width() int { return c.bytes * 8 / c.k }

// Positions appends the k positions of a key to dst: the first piece is the
// digest's first bits. A digest of another length than promised is an error.
func (c Chunks) Positions(digest []byte, dst []uint64) ([]uint64, error) {
	if len(digest) != c.bytes {
		return dst, fmt.Errorf("digest of %d bytes, must be %d", len(digest), c.bytes)
	}
	for piece := range c.k {
		pos := uint64(0) // of the bits so far, modulo m
		for bit, end := piece*c.width(), (piece+1)*c.width(); bit < end; {
			n := min(8-bit%8, end-bit) // bits of one byte; m is below 2^37, so these never overflow
			pos = (pos<<n | uint64(digest[bit/8]<<(bit%8)>>(8-n))) % c.m
			bit += n
		}
		dst = append(dst, pos)
	}
	return dst, nil
}
