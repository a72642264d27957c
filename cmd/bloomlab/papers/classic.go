package papers

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

const (
	// maxPositions bounds m, the number of bits or cells: 8 GiB of bits.
	maxPositions = 1 << 36
	// MaxK bounds k, the number of positions a key.
	MaxK = 64
)

func validSize(m uint64, k int) error {
	if m < 1 || m > maxPositions {
		return fmt.Errorf("m is %d, must be 1 to %d", m, uint64(maxPositions))
	}
	if k < 1 || k > MaxK {
		return fmt.Errorf("k is %d, must be 1 to %d", k, MaxK)
	}
	return nil
}

// Classic is the Bloom filter as described by Bloom ("Space/Time Trade-offs in
// Hash Coding with Allowable Errors", CACM 13(7), 1970; Yan & Cho section II):
// m bits, of which a key has k anywhere. It accepts positions, and so supports every
// hash family: Universal, Chunks, the lanes of a Hash. The papers build on it. The
// program's own filter is filter.Bits, which has fewer cache misses.
//
//	positions -> Set -> Has; filters of equal m and k -> Or
//
// Reads may run concurrently with each other, but not with a write.
type Classic struct {
	m     uint64
	k     int
	words []uint64
	ones  uint64
}

// NewClassic makes an empty filter of m bits, 1 to maxPositions, for keys of k
// positions, 1 to MaxK.
func NewClassic(m uint64, k int) (*Classic, error) {
	if err := validSize(m, k); err != nil {
		return nil, fmt.Errorf("bloom filter: %w", err)
	}
	return &Classic{m: m, k: k, words: make([]uint64, (m+63)/64)}, nil
}

// Size is m, in bits.
func (c *Classic) Size() uint64 { return c.m }

// K is the number of positions a key.
func (c *Classic) K() int { return c.k }

// Ones is the number of set bits.
func (c *Classic) Ones() uint64 { return c.ones }

// Fill is the share of set bits, 0 to 1.
func (c *Classic) Fill() float64 { return float64(c.ones) / float64(c.m) }

// Error is the chance, from the actual bits, that a key never added is
// found: Fill^k.
func (c *Classic) Error() float64 { return math.Pow(c.Fill(), float64(c.k)) }

// Set adds a key: its k positions, each below m.
func (c *Classic) Set(positions []uint64) {
	for _, pos := range positions {
		c.SetBit(pos)
	}
}

// Has reports whether a key is found at its k positions: true for every added key, and
// for another one with the chance Error.
func (c *Classic) Has(positions []uint64) bool {
	for _, pos := range positions {
		if !c.Bit(pos) {
			return false
		}
	}
	return true
}

// Bit reads the bit at pos < m.
func (c *Classic) Bit(pos uint64) bool { return c.words[pos>>6]>>(pos&63)&1 != 0 }

// SetBit sets the bit at pos < m and reports whether it was clear.
func (c *Classic) SetBit(pos uint64) bool {
	w := &c.words[pos>>6]
	was := *w >> (pos & 63) & 1
	*w |= 1 << (pos & 63)
	c.ones += was ^ 1 // no branch: at half fill it would be mispredicted every other time
	return was == 0
}

// ClearBit clears the bit at pos < m and reports whether it was set. Every key that
// has this position is then no longer found.
func (c *Classic) ClearBit(pos uint64) bool {
	w, bit := &c.words[pos>>6], uint64(1)<<(pos&63)
	if *w&bit == 0 {
		return false
	}
	*w &^= bit
	c.ones--
	return true
}

// Reset clears all bits.
func (c *Classic) Reset() {
	clear(c.words)
	c.ones = 0
}

// Or joins other, which must have the same m, k and hash functions. The filter then
// finds every key that one of the two found (Yan & Cho section III, "signature database
// merging"). Its error is that of a filter with all keys of both, so filters to be
// merged must be sized for the union. On an error nothing is changed.
func (c *Classic) Or(other *Classic) error {
	if c.m != other.m || c.k != other.k {
		return fmt.Errorf("bloom filter of m=%d k=%d cannot take one of m=%d k=%d", c.m, c.k, other.m, other.k)
	}
	ones := 0
	for i, w := range other.words {
		c.words[i] |= w
		ones += bits.OnesCount64(c.words[i])
	}
	c.ones = uint64(ones)
	return nil
}

// ClassicError is Yan & Cho's Eq. 1 in its first form: the chance that a key
// never added is found in m bits with n keys of k positions each,
// (1 - (1-1/m)^(kn))^k. It is an estimate, since it takes bits as independent;
// for m of some hundreds and more it is good to a few parts in a thousand.
func ClassicError(m, n float64, k int) float64 {
	return math.Pow(ClassicFill(m, n, k), float64(k))
}

// ClassicFill is the expected share of ones, 1 - (1-1/m)^(kn).
func ClassicFill(m, n float64, k int) float64 {
	return -math.Expm1(float64(k) * n * math.Log1p(-1/m))
}

// DrawHash draws a key's hash: lanes as those of a keyed digest are.
func DrawHash(r *rand.Rand) filter.Hash {
	return filter.Hash{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()}
}

// Positions appends the first k positions of a key's sequence, from 0 to m-1, to dst.
// Two of them may be equal.
func Positions(h filter.Hash, m uint64, k int, dst []uint64) []uint64 {
	next := h.Sequence(m)
	for range k {
		dst = append(dst, next())
	}
	return dst
}
