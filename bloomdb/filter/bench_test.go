package filter

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// The relevant figures are ratios: machines are noisy, and a lookup in a filter larger than
// the caches cannot be cheaper than one cache miss. Each benchmark alternates between a
// base and the code under test, in samples so short that few are interrupted. It reports
// the median and the quartiles of the ratios, and the least times. Take a thousand samples:
// -benchtime 1000x.

const (
	gibLines   = 1 << 24 // 1 GiB
	sampleKeys = 1 << 11 // keys of one sample
	benchKeys  = 1 << 21 // keys in all: their lines have left the caches when they recur
)

// sample works on some keys and returns a value that depends on all results, so that the
// compiler removes none of it.
type sample func(keys []Hash) uint64

var sink uint64

// compare runs base and work alternately on keys, one of each an iteration.
func compare(b *testing.B, keys []Hash, base, work sample) {
	on := func(s sample, half int) func(i int) {
		return func(i int) {
			at := (2*i + half) * sampleKeys % len(keys)
			sink += s(keys[at : at+sampleKeys])
		}
	}
	was, is, ratios := interleave(b.N, on(base, 0), on(work, 1))
	b.ReportMetric(0, "ns/op") // the time of both together means nothing
	b.ReportMetric(was[0]/sampleKeys, "base-ns")
	b.ReportMetric(is[0]/sampleKeys, "min-ns")
	b.ReportMetric(ratios[len(ratios)/4], "ratio-q1")
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(ratios[len(ratios)*3/4], "ratio-q3")
}

// interleave runs base and work alternately, n times each. It returns the times in
// nanoseconds and the ratio of work to the base just before it, all ascending.
func interleave(n int, base, work func(i int)) (was, is, ratios []float64) {
	for i := range n {
		start := time.Now()
		base(i)
		middle := time.Now()
		work(i)
		is = append(is, float64(time.Since(middle).Nanoseconds()))
		was = append(was, float64(middle.Sub(start).Nanoseconds()))
		ratios = append(ratios, is[i]/was[i])
	}
	slices.Sort(was)
	slices.Sort(is)
	slices.Sort(ratios)
	return was, is, ratios
}

func hashes(seed uint64, n int) []Hash {
	r := rand.New(rand.NewPCG(seed, 2))
	keys := make([]Hash, n)
	for i := range keys {
		keys[i] = hash(r)
	}
	return keys
}

// gib returns a filter of 1 GiB with one bit in eight set, as in a full filter.
func gib(b *testing.B, shape BitsShape) *Bits {
	f, err := NewBits(shape)
	testenv.Check(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range f.mem.w {
		f.mem.w[i] = r.Uint64() & r.Uint64() & r.Uint64()
	}
	f.begun.Store(true)
	return f
}

// chased reads a line for each key. Each line determines the next.
func chased(f *Bits) sample {
	return func(keys []Hash) uint64 {
		link := uint64(0)
		for _, h := range keys {
			link = f.mem.w[Reduce(h[0]^link&1, gibLines)*lineWords]
		}
		return link
	}
}

// chasedTwo reads two lines for each key at the same time. Each pair determines the next.
// This is the minimum cost of a present key in two lines.
func chasedTwo(f *Bits) sample {
	return func(keys []Hash) uint64 {
		link := uint64(0)
		for i := range keys {
			h := &keys[i]
			a, b := Reduce(h[0]^link&1, gibLines), Reduce(h[1]^link&1, gibLines)
			link = f.mem.w[a*lineWords] & f.mem.w[b*lineWords]
		}
		return link
	}
}

// independent reads a line for each key; the reads overlap.
func independent(f *Bits) sample {
	return func(keys []Hash) uint64 {
		sum := uint64(0)
		for _, h := range keys {
			sum += f.mem.w[Reduce(h[0], gibLines)*lineWords]
		}
		return sum
	}
}

// number returns 1 for true, without a branch, so that later code waits for the value.
func number(b bool) uint64 {
	var n uint64
	if b {
		n = 1
	}
	return n
}

// one looks up one key after another: each waits for the result of the previous one.
func one(f *Bits) sample {
	return func(keys []Hash) uint64 {
		found := uint64(0)
		for _, h := range keys {
			wait := found >> 32 // always zero, but the processor cannot know
			found += number(f.has(h[0]^wait, h[1]^wait, h[2], h[3]))
		}
		return found
	}
}

func batch(f *Bits) sample {
	var out []bool
	return func(keys []Hash) uint64 {
		out = f.HasBatch(keys, out[:0])
		found := uint64(0)
		for _, ok := range out {
			found += number(ok)
		}
		return found
	}
}

func BenchmarkBits(b *testing.B) {
	absent, present := hashes(3, benchKeys), hashes(5, benchKeys)
	mixed := make([]Hash, benchKeys)
	for i := range mixed {
		mixed[i] = absent[i]
		if absent[i][3]&1 == 0 {
			mixed[i] = present[i]
		}
	}
	lines := gib(b, BitsShape{Lines: gibLines, K: 8})
	b.Run("two-misses", func(b *testing.B) { compare(b, absent, chased(lines), chasedTwo(lines)) })
	for _, tc := range []struct {
		name  string
		shape BitsShape
	}{
		{"one-line/k=8", BitsShape{Lines: gibLines, K: 8, Span: 1}},
		{"two-lines/k=8", BitsShape{Lines: gibLines, K: 8, Span: 2}},
		{"two-lines/k=16", BitsShape{Lines: gibLines, K: 16, Span: 2}},
	} {
		f := gib(b, tc.shape)
		for _, h := range present {
			f.Set(h)
		}
		for _, keys := range []struct {
			name string
			keys []Hash
		}{{"absent", absent}, {"present", present}, {"mixed", mixed}} {
			b.Run("has/"+tc.name+"/"+keys.name, func(b *testing.B) { compare(b, keys.keys, chased(f), one(f)) })
			b.Run("batch/"+tc.name+"/"+keys.name, func(b *testing.B) { compare(b, keys.keys, independent(f), batch(f)) })
		}
	}
}

// BenchmarkCounts uses 2 billion cells in 1 GiB and 36 million keys. Two million of the keys are
// counted twice.
func BenchmarkCounts(b *testing.B) {
	c, err := NewCounts(CountsShape{Lines: gibLines})
	testenv.Check(b, err)
	known, fresh := hashes(7, benchKeys), hashes(8, benchKeys)
	r := rand.New(rand.NewPCG(9, 2))
	for range 16 * benchKeys {
		c.Add(hash(r), 1)
	}
	for _, h := range known {
		c.Add(h, 1)
	}
	miss := chased(&Bits{shape: BitsShape{Lines: gibLines}, mem: c.mem})
	count := func(keys []Hash) uint64 {
		n := uint64(0)
		for _, h := range keys {
			n += uint64(c.count(h[0]^n>>40, h[1]))
		}
		return n
	}
	add := func(keys []Hash) uint64 {
		n := uint64(0)
		for _, h := range keys {
			n += uint64(c.add(h[0]^n>>40, h[1], 1))
		}
		return n
	}
	b.Run("count/present", func(b *testing.B) { compare(b, known, miss, count) })
	b.Run("count/absent", func(b *testing.B) { compare(b, fresh, miss, count) })
	b.Run("add/known", func(b *testing.B) { compare(b, known, miss, add) })
	b.Run("add/new", func(b *testing.B) { compare(b, fresh, miss, add) })
}
