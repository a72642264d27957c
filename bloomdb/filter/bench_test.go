package filter

import (
	"math/rand/v2"
	"testing"
)

// The figures to read are ratios: machines are noisy, and a lookup in a filter
// that is larger than the caches cannot be cheaper than one cache miss.

const gibLines = 1 << 24 // 1 GiB

// gib is a filter of 1 GiB in which one bit in eight is set, as when it is full.
func gib(b *testing.B, k int) *Bits {
	f, err := NewBits(BitsShape{Lines: gibLines, K: k})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range f.mem.w {
		f.mem.w[i] = r.Uint64() & r.Uint64() & r.Uint64()
	}
	f.ones.Store(gibLines * 512 / 8)
	return f
}

// BenchmarkCacheMiss reads lines of 1 GiB in an order that each read decides.
func BenchmarkCacheMiss(b *testing.B) {
	f := gib(b, 8)
	at, link := uint64(1), uint64(0)
	b.ResetTimer()
	for range b.N {
		at += 0x9E3779B97F4A7C15
		line := reduce((at^at>>29^link)*0xBF58476D1CE4E5B9, gibLines)
		link = f.mem.w[line*lineWords] & 1
	}
	b.ReportMetric(float64(link), "sink")
}

func BenchmarkBitsHas(b *testing.B) {
	for _, k := range []int{8, 16} {
		f := gib(b, k)
		b.Run(map[int]string{8: "miss/k=8", 16: "miss/k=16"}[k], func(b *testing.B) {
			r, found := rand.New(rand.NewPCG(3, 4)), uint64(0)
			for range b.N {
				h := hash(r)
				h[0] ^= found // the next lookup waits for this one
				if f.Has(h) {
					found++
				}
			}
			b.ReportMetric(float64(found)/float64(b.N), "found/op")
		})
		for r := rand.New(rand.NewPCG(5, 6)); f.Ones() < gibLines*512/8+4_000_000; {
			f.Set(hash(r))
		}
		b.Run(map[int]string{8: "hit/k=8", 16: "hit/k=16"}[k], func(b *testing.B) {
			r, missing := rand.New(rand.NewPCG(5, 6)), uint64(0)
			for i := range b.N {
				if i%200_000 == 0 {
					r = rand.New(rand.NewPCG(5, 6)) // the keys that were set, again
				}
				h := hash(r)
				h[0] ^= missing
				if !f.Has(h) {
					missing++
				}
			}
			if missing > 0 {
				b.Fatalf("%d keys are missing", missing)
			}
		})
	}
}

func BenchmarkCounts(b *testing.B) {
	c, err := NewCounts(SizeCounts(20_000_000))
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 5_000_000 {
		c.Add(hash(r), 1)
	}
	b.Run("add", func(b *testing.B) {
		for range b.N {
			c.Add(hash(r), 1)
		}
	})
	b.Run("count", func(b *testing.B) {
		n := uint32(0)
		for range b.N {
			n += c.Count(hash(r))
		}
		b.ReportMetric(float64(n)/float64(b.N), "count/op")
	})
}

// BenchmarkPart reads and joins one block of a part that is a tenth of a full
// filter.
func BenchmarkPart(b *testing.B) {
	p := NewPart(64*countBlock, true)
	r := rand.New(rand.NewPCG(7, 8))
	block := func() []Cell {
		var cells []Cell
		for i := range uint64(64 * countBlock) {
			if r.IntN(20) == 0 {
				cells = append(cells, Cell{i, uint32(r.ExpFloat64()*2) + 1})
			}
		}
		return cells
	}
	if err := p.Merge(block()); err != nil {
		b.Fatal(err)
	}
	b.Run("count", func(b *testing.B) {
		shape := CountsShape{Lines: p.Size() / lineCells}
		for range b.N {
			at := shape.Positions(hash(r))
			p.Min(at[:])
		}
	})
	b.Run("merge", func(b *testing.B) {
		cells := block()
		for range b.N {
			if err := p.Merge(cells); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(cells)), "ns/cell")
	})
}
