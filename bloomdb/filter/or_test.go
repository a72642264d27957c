package filter

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// A join is the filter that the keys of both would have made, once or twice,
// and leaves the other one as it was.
func TestOrModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t)
		filters := make([]*Bits, 3) // one, other, union
		for i := range filters {
			f, err := NewBits(shape)
			if err != nil {
				t.Fatal(err)
			}
			filters[i] = f
		}
		for i := range 2 {
			for range rapid.IntRange(0, 40).Draw(t, "keys") {
				h := drawHash(t)
				filters[i].Set(h)
				filters[2].Set(h)
			}
		}
		other := filters[1].Ones()
		or := filters[0].Or
		if rapid.Bool().Draw(t, "exclusive") {
			or = filters[0].OrExclusive
		}
		for range rapid.IntRange(1, 2).Draw(t, "times") {
			if err := or(filters[1]); err != nil {
				t.Fatal(err)
			}
		}
		same(t, filters[0], filters[2])
		if err := or(filters[0]); err != nil {
			t.Fatal(err)
		}
		same(t, filters[0], filters[2])
		if filters[1].Ones() != other {
			t.Fatalf("the other had %d ones and has %d", other, filters[1].Ones())
		}
	})
}

func same(t *rapid.T, got, want *Bits) {
	if got.Ones() != want.Ones() {
		t.Fatalf("%d ones, want %d", got.Ones(), want.Ones())
	}
	for pos := range want.Shape().Size() {
		if got.Bit(pos) != want.Bit(pos) {
			t.Fatalf("bit %d is %v", pos, got.Bit(pos))
		}
	}
}

func TestOrRefusesOtherShapes(t *testing.T) {
	a, _ := NewBits(BitsShape{Lines: 10, K: 8})
	for _, tc := range []struct {
		shape BitsShape
		want  string // in the error; empty: can be joined
	}{
		{BitsShape{Lines: 10, K: 8, Span: 2}, ""},
		{BitsShape{Lines: 11, K: 8}, "there 11 lines, k=8 in 2"},
		{BitsShape{Lines: 10, K: 16}, "there 10 lines, k=16 in 2"},
		{BitsShape{Lines: 10, K: 8, Span: 1}, "there 10 lines, k=8 in 1"},
	} {
		b, _ := NewBits(tc.shape)
		for _, err := range []error{a.Or(b), a.OrExclusive(b)} {
			if tc.want == "" {
				if err != nil {
					t.Errorf("%v: %v", tc.shape, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "here 10 lines, k=8 in 2") {
				t.Errorf("%v: error %v", tc.shape, err)
			}
		}
	}
}

// While filters are joined into one that is written and read, no key is lost,
// and every key whose Set has returned is found at once.
func TestOrParallel(t *testing.T) {
	b, _ := NewBits(BitsShape{Lines: 200, K: 8})
	var wg sync.WaitGroup
	keys := func(seed uint64) []Hash { return hashes(seed, 500) }
	for w := range uint64(3) {
		wg.Go(func() {
			for _, h := range keys(w) {
				b.Set(h)
				if !b.Has(h) || !b.HasBatch([]Hash{h}, nil)[0] {
					t.Errorf("%v is missing right after its Set", h)
				}
			}
		})
	}
	for w := uint64(3); w < 6; w++ {
		other, _ := NewBits(b.Shape())
		wg.Go(func() {
			for i, h := range keys(w) {
				other.Set(h)
				if i%100 == 99 {
					if err := b.Or(other); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	whole, _ := NewBits(b.Shape())
	for w := range uint64(6) {
		for _, h := range keys(w) {
			whole.Set(h)
			if !b.Has(h) {
				t.Fatalf("%v is missing", h)
			}
		}
	}
	if b.Ones() != whole.Ones() {
		t.Errorf("%d ones, counted %d", whole.Ones(), b.Ones())
	}
}

// BenchmarkOr joins filters of 256 MiB with an eighth of their bits set, and
// tells its speed as a share of copy's just before. With "fresh" nearly every
// word gains bits, with "known" none does.
func BenchmarkOr(b *testing.B) {
	var filters [4]*Bits
	r := rand.New(rand.NewPCG(1, 2))
	for i := range filters {
		f, err := NewBits(BitsShape{Lines: 1 << 22, K: 8})
		if err != nil {
			b.Fatal(err)
		}
		for j := range f.mem.w {
			f.mem.w[j] = r.Uint64() & r.Uint64() & r.Uint64()
		}
		filters[i] = f
	}
	dst, other, fresh, known := filters[0], filters[1], filters[2], filters[3]
	orLines(known.mem.w, other.mem.w)
	for _, tc := range []struct {
		name   string
		or     func(*Bits) error
		before *Bits
	}{{"exclusive/fresh", dst.OrExclusive, fresh}, {"exclusive/known", dst.OrExclusive, known},
		{"shared/fresh", dst.Or, fresh}, {"shared/known", dst.Or, known}} {
		b.Run(tc.name, func(b *testing.B) {
			restore := func(int) { copy(dst.mem.w, tc.before.mem.w) }
			join := func(int) {
				if err := tc.or(other); err != nil {
					b.Fatal(err)
				}
			}
			was, is, ratios := interleave(b.N, restore, join)
			size := float64(dst.shape.Bytes()) // bytes per nanosecond are GB/s
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(size/was[0], "copy-GB/s")
			b.ReportMetric(size/is[0], "GB/s")
			b.ReportMetric(1/ratios[len(ratios)/2], "of-copy")
		})
	}
}
