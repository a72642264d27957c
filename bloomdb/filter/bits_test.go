package filter

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

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
	testenv.Check(t, err)
	return b
}

func ascending(all map[uint64]uint32) []Cell {
	cells := make([]Cell, 0, len(all))
	for pos, v := range all {
		cells = append(cells, Cell{pos, v})
	}
	slices.SortFunc(cells, func(a, b Cell) int { return cmp.Compare(a.Pos, b.Pos) })
	return cells
}
