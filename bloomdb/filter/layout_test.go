package filter

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func drawShape(t *rapid.T) BitsShape {
	return BitsShape{
		Lines: rapid.Uint64Range(2, 300).Draw(t, "lines"),
		K:     rapid.SampledFrom([]int{4, 8, 16}).Draw(t, "k"),
		Span:  rapid.IntRange(0, 2).Draw(t, "span"),
	}
}

func drawHash(t *rapid.T) Hash {
	lane := rapid.Uint64()
	return Hash{lane.Draw(t, "h0"), lane.Draw(t, "h1"), lane.Draw(t, "h2"), lane.Draw(t, "h3")}
}

// formatPositions implements FORMAT.md literally.
func formatPositions(s BitsShape, h Hash) []uint64 {
	a, b := Reduce(h[0], s.Lines), Reduce(h[1], s.Lines)
	if a == b {
		b = (b + 1) % s.Lines
	}
	size, first := uint64(1024/s.K), uint64(0)
	if s.Span == 1 {
		b, size, first = a, uint64(512/s.K), uint64(s.K/2)
	}
	var p []uint64
	for j := range uint64(s.K / 2) {
		step := uint64(1)
		for range j {
			step *= size
		}
		p = append(p, 512*a+j*size+h[2]/step%size, 512*b+(first+j)*size+h[3]/step%size)
	}
	slices.Sort(p)
	return p
}

// A key's positions are those of FORMAT.md: K distinct ones, ascending, each in its own
// section of one line or two.
func TestPositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, h := drawShape(t), drawHash(t)
		p := shape.Positions(h, nil)
		if want := formatPositions(shape, h); !slices.Equal(p, want) {
			t.Fatalf("positions %v, by the format %v", p, want)
		}
		lines, sections := make(map[uint64]bool), make(map[uint64]bool)
		for _, pos := range p {
			lines[pos/512] = true
			sections[pos*uint64(shape.K/shape.span())/512] = true
		}
		if len(lines) != shape.span() || len(sections) != shape.K || p[len(p)-1] >= shape.Size() {
			t.Fatalf("%d lines, %d sections: %v", len(lines), len(sections), p)
		}
	})
}

// The positions in existing files do not change. These were written by the release that had only
// the two-line layout.
func TestPositionsOfExistingFiles(t *testing.T) {
	h := Hash{0x0123456789abcdef, 0xfedcba9876543210, 0xdeadbeefcafef00d, 0x0f1e2d3c4b5a6978}
	for _, tc := range []struct {
		shape BitsShape
		h     Hash
		want  []uint64
	}{
		{BitsShape{Lines: 1000, K: 8}, h, []uint64{2061, 2272, 2427, 2519, 509560, 509650, 509801, 509914}},
		{BitsShape{Lines: 12345, K: 16}, h, []uint64{27661, 27712, 27823, 27903, 27914, 28031, 28078, 28143,
			6292536, 6292581, 6292646, 6292694, 6292747, 6292849, 6292883, 6292939}},
		{BitsShape{Lines: 10, K: 8}, Hash{math.MaxUint64, math.MaxUint64, 1, 2}, []uint64{2, 128, 256, 384, 4609, 4736, 4864, 4992}},
	} {
		for _, span := range []int{0, 2} {
			tc.shape.Span = span
			if got := tc.shape.Positions(tc.h, nil); !slices.Equal(got, tc.want) {
				t.Errorf("%v: positions %v, were %v", tc.shape, got, tc.want)
			}
		}
	}
}

// Error is the mean error on the bits, over filters of n keys, within four standard errors.
// The share of absent keys found is the error on the bits, and the ones are as predicted by
// Fill, within four standard deviations of a Poisson draw.
func TestBitsError(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for i, tc := range []struct {
		shape  BitsShape
		perKey float64 // bits
	}{
		{BitsShape{K: 8, Span: 2}, 16}, {BitsShape{K: 8}, 10}, {BitsShape{K: 16, Span: 2}, 16}, {BitsShape{K: 4, Span: 2}, 8},
		{BitsShape{K: 8, Span: 1}, 16}, {BitsShape{K: 16, Span: 1}, 16}, {BitsShape{K: 4, Span: 1}, 8},
	} {
		t.Run(fmt.Sprintf("k=%d,span=%d,bits=%g", tc.shape.K, tc.shape.Span, tc.perKey), func(t *testing.T) {
			r := seeded(t, uint64(20+i))
			const keys, tries, filters = 10_000, 25_000, 16
			tc.shape.Lines = uint64(keys * tc.perKey / 512)
			var hits, ones, sum, squares float64
			for range filters {
				b, err := NewBits(tc.shape)
				testenv.Check(t, err)
				for range keys {
					b.Set(hash(r))
				}
				for range tries {
					if b.Has(hash(r)) {
						hits++
					}
				}
				sum += b.Error()
				squares += b.Error() * b.Error()
				ones += float64(b.Ones()) / filters
			}
			onBits, expect := sum/filters, tc.shape.Error(keys)
			sd := math.Sqrt((squares/filters - onBits*onBits) / (filters - 1))
			t.Logf("%.4g found, %.4g (sd %.1g) on the bits, %.4g predicted", hits/tries/filters, onBits, sd, expect)
			// With only 312 lines the loads are slightly more even than Poisson.
			if math.Abs(onBits-expect) > 4*sd+0.004*expect {
				t.Errorf("error on the bits %g, predicted %g, standard error %g", onBits, expect, sd)
			}
			if want := onBits * tries * filters; math.Abs(hits-want) > 4*math.Sqrt(want) {
				t.Errorf("%g false positives, by the bits %g", hits, want)
			}
			want := tc.shape.Fill(keys) * float64(tc.shape.Size())
			if sd := math.Sqrt(want / filters); math.Abs(ones-want) > 4*sd {
				t.Errorf("%.1f ones, predicted %.1f", ones, want)
			}
		})
	}
}

// The formulas compared with values calculated elsewhere, for 16 bits a key and k=8: a
// Poisson sum for infinite Lines, and the values for two lines of the previous release.
func TestErrorFormula(t *testing.T) {
	const many = 1_000_000
	for _, tc := range []struct {
		shape   BitsShape
		n, want float64
	}{
		{BitsShape{Lines: many / 32, K: 8, Span: 2}, many, 6.40e-4},
		{BitsShape{Lines: many / 32, K: 8, Span: 1}, many, 9.09e-4},
		{BitsShape{Lines: 10, K: 8}, 300, 4.3346e-4},
		{BitsShape{Lines: 100, K: 16}, 2000, 9.1238e-6},
		{BitsShape{Lines: 10, K: 8, Span: 1}, 0, 0},
	} {
		if got := tc.shape.Error(tc.n); math.Abs(got-tc.want) > 0.001*tc.want {
			t.Errorf("%v, %g keys: error %.5g, want %.5g", tc.shape, tc.n, got, tc.want)
		}
	}
}

// At 1e-6 the two-line layout takes about 31 bits a key with k=16 and 43 with k=8; the
// classic filter with the best k would take 28.8. One line with k=8 takes 51.9.
func TestFit(t *testing.T) {
	for _, tc := range []struct {
		target, min, max float64
		k, span          int
	}{
		{1e-2, 9, 11, 8, 0}, {1e-3, 14, 16, 8, 0}, {1e-6, 30, 34, 16, 0}, {1e-6, 40, 44, 8, 2}, {1e-8, 78, 86, 8, 2}, {1e-11, 78, 86, 16, 2},
		{1e-2, 10, 10.2, 8, 1}, {1e-3, 15.6, 15.8, 8, 1}, {1e-6, 51.8, 52, 8, 1},
	} {
		s := BitsShape{K: tc.k, Span: tc.span}.Fit(1e6, tc.target)
		bits := float64(s.Size()) / 1e6
		if bits < tc.min || bits > tc.max || s.Error(1e6) > tc.target || s.K != tc.k || s.Span != tc.span {
			t.Errorf("target %g: %.2f bits a key, %v, error %g", tc.target, bits, s, s.Error(1e6))
		}
		less := s
		if less.Lines--; less.Error(1e6) <= tc.target {
			t.Errorf("target %g: one line less would suffice", tc.target)
		}
		if tc.span == 0 && SizeBits(1e6, tc.target, tc.k) != s {
			t.Errorf("target %g: SizeBits is not Fit in two lines", tc.target)
		}
	}
	if s := SizeBits(1e15, 1e-6, 8); s.Lines != MaxLines {
		t.Errorf("beyond the limit: %d lines", s.Lines)
	}
	if s := (BitsShape{K: 4, Span: 1}).Fit(1, 0.5); s.Lines != 1 || s.Valid() != nil {
		t.Errorf("one key: %v, %v", s, s.Valid())
	}
}

func TestShapesFromOutside(t *testing.T) {
	for _, s := range []BitsShape{
		{}, {Lines: 1, K: 8}, {Lines: 1, K: 8, Span: 2}, {Lines: 0, K: 8, Span: 1}, {Lines: 100, K: 9}, {Lines: 100, K: 0},
		{Lines: 100, K: 32}, {Lines: 100, K: -8}, {Lines: 100, K: 8, Span: 3}, {Lines: 100, K: 8, Span: -1},
		{Lines: MaxLines + 1, K: 8}, {Lines: math.MaxUint64, K: 16, Span: 1},
	} {
		if _, err := NewBits(s); err == nil {
			t.Errorf("bits %+v: no error", s)
		}
	}
}

// Every key that was set is found, individually and in a batch. The ones equal those of a
// map of positions, which also predicts the results for other keys.
func TestBitsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t)
		b, err := NewBits(shape)
		testenv.Check(t, err)
		model := make(map[uint64]bool)
		var keys []Hash
		for range rapid.IntRange(0, 60).Draw(t, "keys") {
			h := drawHash(t)
			keys = append(keys, h, drawHash(t))
			b.Set(h)
			if !b.Has(h) {
				t.Fatalf("%v was set but is not found", h)
			}
			for _, pos := range shape.Positions(h, nil) {
				model[pos] = true
			}
		}
		want := []bool{true} // existing content of dst stays
		for _, h := range keys {
			known := !slices.ContainsFunc(shape.Positions(h, nil), func(pos uint64) bool { return !model[pos] })
			if b.Has(h) != known {
				t.Fatalf("has %v: %v, model %v", h, b.Has(h), known)
			}
			want = append(want, known)
		}
		if got := b.HasBatch(keys, []bool{true}); !slices.Equal(got, want) {
			t.Fatalf("batch returned %v, model %v", got, want)
		}
		var ones []uint64
		for i := range Blocks(shape.Size(), false) {
			for _, c := range b.Block(i, nil) {
				ones = append(ones, c.Pos)
			}
		}
		if want := slices.Sorted(maps.Keys(model)); !slices.Equal(ones, want) || int(b.Ones()) != len(want) {
			t.Fatalf("%d ones, %v, model %v", b.Ones(), ones, want)
		}
	})
}
