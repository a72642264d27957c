package filter

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"sync/atomic"
)

const (
	lineWords = 8   // 64-byte lines
	lineBits  = 512 // bits of a line
)

// BitsShape is the geometry of a Bits filter: the blocked layout of Putze, Sanders, Singler
// (2007, section 3) in one or two cache lines. Two filters can be joined if their shapes
// and hash keys are equal.
//
// Each probe has its own section of its line, 1/(K/Span) of it, so a key's K bits are
// always distinct (Yan & Cho 2006, heuristic H2). With 16 bits a key and k=8 the error is
// 6.4e-4 in two lines and 9.1e-4 in one, compared with 5.7e-4 in a classic filter. One line
// moves half the memory for a lookup.
type BitsShape struct {
	Lines uint64 // 64-byte lines; m = 512*Lines
	K     int    // bits a key: 4, 8 or 16
	Span  int    // lines that contain a key's bits: 1 or 2; 0 means 2
}

// MaxLines bounds the size of a shape from outside: 8 GiB.
const MaxLines = 1 << 27

// Valid returns an error for an invalid shape from outside.
func (s BitsShape) Valid() error {
	if s.K != 4 && s.K != 8 && s.K != 16 {
		return fmt.Errorf("k is %d, must be 4, 8 or 16", s.K)
	}
	if s.Span < 0 || s.Span > 2 {
		return fmt.Errorf("a key spans %d lines, must be 1 or 2", s.Span)
	}
	if s.Lines < uint64(s.span()) || s.Lines > MaxLines {
		return fmt.Errorf("%d lines, must be %d to %d", s.Lines, s.span(), MaxLines)
	}
	return nil
}

// Equal reports whether filters of both shapes use the same bits for a key.
func (s BitsShape) Equal(t BitsShape) bool {
	return s.Lines == t.Lines && s.K == t.K && s.span() == t.span()
}

func (s BitsShape) String() string {
	return fmt.Sprintf("%d lines, k=%d in %d", s.Lines, s.K, s.span())
}

// Size returns m, the number of bits.
func (s BitsShape) Size() uint64 { return s.Lines * lineBits }

// Bytes returns the memory of a filter of this shape.
func (s BitsShape) Bytes() int64 { return int64(s.Lines) * lineWords * 8 }

func (s BitsShape) span() int {
	if s.Span == 1 {
		return 1
	}
	return 2
}

// Sections returns the number of sections of a line, and log2 of the bits of each.
func (s BitsShape) Sections() (n int, log2 uint) { return s.K / s.span(), s.section() }

// section returns log2 of the size of a probe's section in bits.
func (s BitsShape) section() uint {
	return uint(bits.TrailingZeros(lineBits) + s.span() - 1 - bits.TrailingZeros(uint(s.K)))
}

// lines returns the two lines of a key, which always differ, or its one line twice. Half of
// the key's probes are in sections 0 to K/2-1 of a, the others in as many sections of b,
// starting at section from. It takes the lanes individually, like all fast code here,
// because an array is passed through memory.
func (s BitsShape) lines(h0, h1 uint64) (a, b uint64, from int) {
	a = Reduce(h0, s.Lines)
	if s.Span == 1 {
		return a, a, s.K / 2
	}
	b = Reduce(h1, s.Lines)
	if a == b {
		if b++; b == s.Lines {
			b = 0
		}
	}
	return a, b, 0
}

// Positions appends the K bit positions of a key to dst, ascending.
func (s BitsShape) Positions(h Hash, dst []uint64) []uint64 {
	a, b, from := s.lines(h[0], h[1])
	if a > b {
		return s.positions(a, h[2], 0, s.positions(b, h[3], 0, dst))
	}
	return s.positions(b, h[3], from, s.positions(a, h[2], 0, dst))
}

// positions appends the positions of half a key. Each takes as many low bits of the lane as
// its section needs.
func (s BitsShape) positions(line, lane uint64, from int, dst []uint64) []uint64 {
	sec := s.section()
	for j := from; j < from+s.K/2; j++ {
		dst = append(dst, line*lineBits+uint64(j)<<sec|lane&(1<<sec-1))
		lane >>= sec
	}
	return dst
}

// Error returns the probability that a key never added is found, with n keys in the filter.
// The load of a line is Poisson with mean Span*n/Lines (Putze, Sanders, Singler 2007,
// equation 3), and a probe finds its bit among the ones of its section.
func (s BitsShape) Error(n float64) float64 {
	perLine := float64(s.K / s.span())
	inLine := s.mixture(n, func(fill float64) float64 { return math.Pow(fill, perLine) })
	return math.Pow(inLine, float64(s.span()))
}

// Line contains the bits of a line: bit p is bit p mod 64, from the lowest, of word p/64.
type Line [lineWords]uint64

// ErrorOf returns the probability that a key never added is found in a filter with the
// given lines. Lines without ones may be left out. Bits may be set meanwhile.
func (s BitsShape) ErrorOf(lines iter.Seq[*Line]) float64 {
	sum := 0.0
	for line := range lines {
		sum += s.lineError(line)
	}
	return math.Pow(sum/float64(s.Lines), float64(s.span()))
}

// Ones returns the number of ones in the line.
func (l *Line) Ones() (n int) {
	for _, w := range l {
		n += bits.OnesCount64(w)
	}
	return n
}

// Set sets the bit at a position of a filter that has this line.
func (l *Line) Set(pos uint64) { l[pos>>6%lineWords] |= 1 << (pos & 63) }

// lineError returns the probability that all probes of one line find ones: the product of
// the fills of its sections.
func (s BitsShape) lineError(line *Line) float64 {
	size := uint64(1) << s.section()
	inWord := uint64(1)<<min(size, 64) - 1
	p := 1.0
	for from := uint64(0); from < lineBits && p > 0; from += size {
		ones := 0
		for at := from; at < from+size; at += 64 {
			ones += bits.OnesCount64(atomic.LoadUint64(&line[at>>6%lineWords]) >> (at & 63) & inWord)
		}
		p *= float64(ones) / float64(size)
	}
	return p
}

// Fill returns the expected share of ones with n keys in the filter.
func (s BitsShape) Fill(n float64) float64 {
	return s.mixture(n, func(fill float64) float64 { return fill })
}

// mixture returns the mean over all lines of f(fill), with n keys in the filter: the sum
// over x of Poisson(x; Span*n/Lines) * f(fill of a line with x keys).
func (s BitsShape) mixture(n float64, f func(fill float64) float64) float64 {
	load := float64(s.span()) * n / float64(s.Lines)
	if load <= 0 {
		return 0
	}
	miss := math.Log1p(-1 / float64(int(1)<<s.section()))
	spread := 12*math.Sqrt(load) + 12
	sum := 0.0
	for x := math.Max(1, math.Floor(load-spread)); x <= load+spread; x++ {
		lg, _ := math.Lgamma(x + 1)
		sum += math.Exp(x*math.Log(load)-load-lg) * f(-math.Expm1(x*miss))
	}
	return sum
}

// unlikely is the chance of an accident that no federation will see.
const unlikely = 1e-15

// MostInLine returns the number of ones that a line of a filter with n keys has at most: those
// of so many keys that they come together in one line with the chance unlikely.
func (s BitsShape) MostInLine(n float64) int {
	load := float64(s.span()) * n / float64(s.Lines)
	keys := math.Ceil(load)
	for p := 1.0; p >= unlikely; keys++ {
		lg, _ := math.Lgamma(keys + 2)
		p = math.Exp((keys+1)*math.Log(load) - load - lg)
	}
	miss := math.Log1p(-1 / float64(int(1)<<s.section()))
	return int(math.Ceil(-lineBits * math.Expm1(keys*miss)))
}

// Fit returns the smallest shape with the K and Span of s that holds n keys at the given
// error: the probability, between 1e-15 and 0.5, that a key never added is found. If no
// permitted size suffices, it returns MaxLines. It is safe for concurrent use, and fast for
// arguments that it was called with before.
func (s BitsShape) Fit(n, target float64) BitsShape {
	s.Lines = 0
	of := fitting{s, n, target}
	lines, ok := fitted.get(of)
	if !ok {
		lines = s.search(n, target)
		fitted.put(of, lines)
	}
	s.Lines = lines
	return s
}

// search returns the number of lines for Fit.
func (s BitsShape) search(n, target float64) uint64 {
	lo, hi := uint64(s.span()), uint64(MaxLines)
	for lo < hi {
		s.Lines = lo + (hi-lo)/2
		if s.Error(n) <= target {
			hi = s.Lines
		} else {
			lo = s.Lines + 1
		}
	}
	return lo
}

// SizeBits is Fit for k bits a key in two lines. At errors below 1e-6 a filter with k=16 is
// smaller. A filter with k=8 has fewer ones, so its parts and deltas are smaller.
func SizeBits(n, target float64, k int) BitsShape { return BitsShape{K: k}.Fit(n, target) }
