package filter

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A part has the same error as the filter with its bits.
func TestPartError(t *testing.T) {
	for _, s := range []BitsShape{{Lines: 700, K: 8, Span: 1}, {Lines: 700, K: 8}, {Lines: 3, K: 4, Span: 1}, {Lines: 700, K: 16}} {
		b, err := NewBits(s)
		if err != nil {
			t.Fatal(err)
		}
		p := NewPart(s.Size(), false)
		if got := p.Error(s); got != 0 {
			t.Errorf("%v: an empty part errs with %g", s, got)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 40 * s.Lines {
			b.Set(Hash{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()})
		}
		for i := range Blocks(s.Size(), false) {
			if err := p.Merge(b.Block(i, nil)); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := p.Error(s), b.Error(); want == 0 || math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%v: part %g, filter %g", s, got, want)
		}
	}
}

// SetCells sets the given bits, and counts each once.
func TestSetCells(t *testing.T) {
	s := BitsShape{Lines: 50, K: 8, Span: 1}
	b, want := mustBits(t, s), map[uint64]uint32{}
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		cells := []Cell{{r.Uint64N(s.Size()), 1}, {r.Uint64N(s.Size()), 1}}
		b.SetCells(cells)
		for _, c := range cells {
			want[c.Pos] = 1
		}
	}
	b.SetCells(nil)
	if int(b.Ones()) != len(want) || !slices.Equal(b.Block(0, nil), ascending(want)) {
		t.Errorf("%d bits, want %d", b.Ones(), len(want))
	}
}

func mustBits(t *testing.T, s BitsShape) *Bits {
	t.Helper()
	b, err := NewBits(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
