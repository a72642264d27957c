package filter

import (
	"fmt"
	"math"
)

const (
	maxIterative = 1 << 36 // bounds m of an Iterative filter: 8 GiB
	maxK         = 64      // bounds its k
	maxWalk      = 1 << 20 // bounds its walk, in positions
)

// IterativeShape is the geometry and the limits of an Iterative filter.
type IterativeShape struct {
	M       uint64  // bits, 1 to 2^36
	K       int     // positions that say whether a key is there, 1 to 64
	Walk    int     // positions beyond the first K that a key may fill, 1 to 2^20
	MaxFill float64 // share of ones at which counting stops, above 0 and below 1; the paper's is 1/2
}

// Valid says what is wrong with a shape.
func (s IterativeShape) Valid() error {
	if s.M < 1 || s.M > maxIterative {
		return fmt.Errorf("m is %d, must be 1 to %d", s.M, uint64(maxIterative))
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
		return fmt.Errorf("m is %d: with the fill limit %v not even one key of k=%d fits", s.M, s.MaxFill, s.K)
	}
	return nil
}

// limit is the largest number of ones.
func (s IterativeShape) limit() uint64 { return uint64(s.MaxFill * float64(s.M)) }

// Bytes is the memory of a filter of this shape.
func (s IterativeShape) Bytes() int64 { return int64((s.M + 63) / 64 * 8) }

// Iterative is a Bloom filter that also counts, in the same bits (Matsumoto,
// Hazeyama, Kadobayashi, "Iterative Bloom Filter for Network Traffic Analysis").
// A key has positions without end. Its first K are set when it is new; each
// further time it is added, the first zero after them becomes a one. How often it
// was added is read from the length of its run of ones.
//
//	new key      h1 .. hK          all set
//	seen before  hK+1, hK+2, ...   walked to the first 0, which is set
//	asked        h1, h2, ...       walked to the first 0: the run j; there when j >= K
//
// It needs no size for the largest count, and a repetition costs one bit; that
// suits streams in which most keys are new. A key that is new but falsely found
// is counted as one seen before. Nothing can be taken out, and filters cannot be
// joined: a run of ones in an OR is nobody's count. A walk costs time in
// proportion to the count, so Walk bounds it; keys beyond are only known to have
// been added at least so often. With more ones than MaxFill (section 5.6.3)
// errors and runs grow fast: the filter then takes no more, and says so.
//
// The paper's Table 1 is silent on a key of whose first K bits only some are
// set. It is taken as new: so Eq. 6 and 10 have it.
//
// One goroutine at a time may use it: the caller has the lock. An Add of a key
// seen for the first time is K cache misses at most.
type Iterative struct {
	shape IterativeShape
	words []uint64
	ones  uint64
	adds  uint64  // Adds while not full
	walk  float64 // sum over those of 1/(1-p), p the fill each one met
}

// NewIterative makes an empty filter.
func NewIterative(shape IterativeShape) (*Iterative, error) {
	if err := shape.Valid(); err != nil {
		return nil, fmt.Errorf("iterative bloom filter: %w", err)
	}
	return &Iterative{shape: shape, words: make([]uint64, (shape.M+63)/64)}, nil
}

// Ones is the number of set bits.
func (f *Iterative) Ones() uint64 { return f.ones }

// Fill is the share of set bits, p, from 0 to MaxFill.
func (f *Iterative) Fill() float64 { return float64(f.ones) / float64(f.shape.M) }

// Full says that one key more might pass MaxFill. Add then changes nothing.
func (f *Iterative) Full() bool { return f.ones+uint64(f.shape.K) > f.shape.limit() }

// Reset empties the filter.
func (f *Iterative) Reset() {
	clear(f.words)
	f.ones, f.adds, f.walk = 0, 0, 0
}

// Add counts a key once more, and says whether it could: it cannot when the
// filter is full, or when the key's walk is at its end. seq must be at its
// beginning, and give positions below M.
func (f *Iterative) Add(seq Sequence) bool {
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

// setBit says whether the bit was clear.
func (f *Iterative) setBit(pos uint64) bool {
	w, bit := &f.words[pos>>6], uint64(1)<<(pos&63)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	f.ones++
	return true
}

// Estimate is what a key's run of ones says.
type Estimate struct {
	Run     int     // j: ones from h_1 to the first zero, at most K+Walk
	Found   bool    // j >= K: the key was added, or is found with the chance Fill^K
	AtLeast bool    // the run ends where the walk must: the key was added at least so often
	Count   float64 // how often it was added, corrected; 0 where not Found, else from 1
}

// Estimate asks how often a key was added while the filter was not full. seq must
// be at its beginning.
//
// Count takes from the ones beyond the first K those that stand there by chance,
// P/(1-P) at the fill P of today, and divides the rest by the mean over all Adds
// of 1/(1-p): the positions that each one walked, p being the fill it met. It
// supposes that the key came as evenly as the others. For a key added a thousand
// times it is true to about 2 % (one standard deviation). One added once reads
// 1.2 to 1.35 on average, as there is no count below 1, and 5 or more with a chance
// of some thousandths. Thresholds should be 5 and more.
func (f *Iterative) Estimate(seq Sequence) Estimate {
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

func (f *Iterative) bit(pos uint64) bool { return f.words[pos>>6]>>(pos&63)&1 != 0 }

// SizeIterative is the number of bits with which a filter of k positions a key
// has the given fill, above 0 and below 1, after so many Adds of so many distinct
// keys, evenly mixed. With alpha = distinct/adds it is the solution of
// dX/dt = alpha k (1-X/m) + (1-alpha). At fill 1/2 and k=5 it is 7.2 bits a key
// when none repeats.
func SizeIterative(distinct, adds float64, k int, fill float64) uint64 {
	thrown := float64(k) * distinct
	return uint64(math.Ceil(thrown / -math.Log1p(-fill/(1+(adds-distinct)/thrown))))
}
