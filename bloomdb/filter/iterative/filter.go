package iterative

import (
	"fmt"
	"math"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

const (
	maxBits = 1 << 36 // bounds m of a filter: 8 GiB
	maxK    = 64      // bounds its k
	maxWalk = 1 << 20 // bounds its walk, in positions
)

// Shape is the geometry and the limits of a filter.
type Shape struct {
	M       uint64  // bits, 1 to 2^36
	K       int     // positions that determine whether a key is present, 1 to 64
	Walk    int     // positions beyond the first K that a key may fill, 1 to 2^20
	MaxFill float64 // share of ones at which counting stops, above 0 and below 1; the paper's is 1/2
}

// Valid returns an error for an invalid shape.
func (s Shape) Valid() error {
	if s.M < 1 || s.M > maxBits {
		return fmt.Errorf("m is %d, must be 1 to %d", s.M, uint64(maxBits))
	}
	if s.K < 1 || s.K > maxK {
		return fmt.Errorf("k is %d, must be 1 to %d", s.K, maxK)
	}
	if s.Walk < 1 || s.Walk > maxWalk {
		return fmt.Errorf("walk is %d, must be 1 to %d", s.Walk, maxWalk)
	}
	if !(s.MaxFill > 0 && s.MaxFill < 1) {
		return fmt.Errorf("fill limit is %v, must be above 0 and below 1", s.MaxFill)
	}
	if s.limit() < uint64(s.K) {
		return fmt.Errorf("m is %d: too small for a single key of k=%d at the fill limit %v", s.M, s.K, s.MaxFill)
	}
	return nil
}

// limit is the largest number of ones.
func (s Shape) limit() uint64 { return uint64(s.MaxFill * float64(s.M)) }

// Bytes returns the memory of a filter of this shape.
func (s Shape) Bytes() int64 { return int64((s.M + 63) / 64 * 8) }

// Filter is a Bloom filter that also counts, in the same bits (Matsumoto, Hazeyama,
// Kadobayashi, "Iterative Bloom Filter for Network Traffic Analysis"). A key has an endless
// sequence of positions. Its first K are set when it is new; each further Add sets the
// first zero after them. The length of a key's run of ones gives its count.
//
//	new key      h1 .. hK          all set
//	seen before  hK+1, hK+2, ...   walked to the first 0, which is set
//	queried      h1, h2, ...       walked to the first 0: the run j; present if j >= K
//
// It needs no size for the largest count, and a repetition costs one bit; that suits
// streams in which most keys are new. A new key that is falsely found is counted as a
// repetition. Keys cannot be removed, and filters cannot be joined: a run of ones in an OR
// is not a count. A walk takes time in proportion to the count, so Walk bounds it; of keys
// beyond that, only a minimum count is known. With more ones than MaxFill (section 5.6.3)
// errors and runs grow fast. The filter then accepts no more keys, and reports so.
//
// The paper's Table 1 does not cover a key with only some of its first K bits set. It is
// treated as new, as in Eq. 6 and 10.
//
// Only one goroutine at a time may use it: the caller holds a lock. Adding a key for the
// first time costs at most K cache misses.
type Filter struct {
	shape Shape
	words []uint64
	ones  uint64
	adds  uint64  // Adds while not full
	walk  float64 // sum over those Adds of 1/(1-p), p being the fill at the time
}

// New returns an empty filter.
func New(shape Shape) (*Filter, error) {
	if err := shape.Valid(); err != nil {
		return nil, fmt.Errorf("iterative bloom filter: %w", err)
	}
	return &Filter{shape: shape, words: make([]uint64, (shape.M+63)/64)}, nil
}

// Ones returns the number of set bits.
func (f *Filter) Ones() uint64 { return f.ones }

// Fill returns the share of set bits, p, from 0 to MaxFill.
func (f *Filter) Fill() float64 { return float64(f.ones) / float64(f.shape.M) }

// Full reports whether another key might exceed MaxFill. Add then changes nothing.
func (f *Filter) Full() bool { return f.ones+uint64(f.shape.K) > f.shape.limit() }

// Reset empties the filter.
func (f *Filter) Reset() {
	clear(f.words)
	f.ones, f.adds, f.walk = 0, 0, 0
}

// Add counts a key once more, and reports whether it could. It cannot if the filter is
// full, or if the key's walk is at its end. seq must be at its beginning, with positions
// below M.
func (f *Filter) Add(seq filter.Sequence) bool {
	if f.Full() {
		return false
	}
	f.adds++
	f.walk += 1 / (1 - f.Fill())
	isNew := false
	for range f.shape.K {
		if f.setBit(seq()) {
			isNew = true
		}
	}
	if isNew {
		return true
	}
	for range f.shape.Walk {
		if f.setBit(seq()) {
			return true
		}
	}
	return false
}

// setBit sets a bit and reports whether it was clear.
func (f *Filter) setBit(pos uint64) bool {
	w, bit := &f.words[pos>>6], uint64(1)<<(pos&63)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	f.ones++
	return true
}

// Estimate is the information in a key's run of ones.
type Estimate struct {
	Run     int     // j: ones from h_1 to the first zero, at most K+Walk
	Found   bool    // j >= K: the key was added, or is falsely found with probability Fill^K
	AtLeast bool    // the run ends at the end of the walk: Count is a minimum
	Count   float64 // corrected number of Adds; 0 if not Found, otherwise at least 1
}

// Estimate estimates how often a key was added while the filter was not full. seq must be
// at its beginning.
//
// Count subtracts from the ones beyond the first K those set by chance, P/(1-P) at the
// current fill P. It divides the rest by the mean over all Adds of 1/(1-p): the positions
// walked by each Add, p being the fill at the time. It assumes that the key arrived as
// evenly as the others. For a key added a thousand times it is accurate to about 2 % (one
// standard deviation). A key added once has an estimate of 1.2 to 1.35 on average, as there
// is no count below 1, and of 5 or more with a probability of some thousandths. Thresholds
// should be 5 or more.
func (f *Filter) Estimate(seq filter.Sequence) Estimate {
	most := f.shape.K + f.shape.Walk
	e := Estimate{}
	for e.Run < most && f.bit(seq()) {
		e.Run++
	}
	e.Found, e.AtLeast = e.Run >= f.shape.K, e.Run == most
	if !e.Found {
		return e
	}
	p := f.Fill()
	steps := f.walk / float64(f.adds)
	e.Count = 1 + math.Max(0, float64(e.Run-f.shape.K)-p/(1-p))/steps
	return e
}

func (f *Filter) bit(pos uint64) bool { return f.words[pos>>6]>>(pos&63)&1 != 0 }

// Size returns the number of bits with which a filter of k positions a key has the
// given fill, above 0 and below 1, after that many Adds of that many distinct keys, evenly
// mixed. With alpha = distinct/adds it is the solution of dX/dt = alpha k (1-X/m) +
// (1-alpha). At fill 1/2 and k=5 it is 7.2 bits a key if no key repeats.
func Size(distinct, adds float64, k int, fill float64) uint64 {
	thrown := float64(k) * distinct
	return uint64(math.Ceil(thrown / -math.Log1p(-fill/(1+(adds-distinct)/thrown))))
}
