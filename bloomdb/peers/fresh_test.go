package peers

import (
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// cellsOf returns cells at every step-th position on average.
func cellsOf(r *rand.Rand, size, step uint64) (cells []filter.Cell) {
	for pos := r.Uint64N(step); pos < size; pos += 1 + r.Uint64N(2*step) {
		cells = append(cells, filter.Cell{Pos: pos, Value: 1})
	}
	return cells
}

// fullEpochs returns the parts of a site in several epochs. The last one is partly loaded.
func fullEpochs(tb testing.TB, r *rand.Rand, kind layout.Kind, size uint64, n int) (epochs []store.SitePart) {
	tb.Helper()
	for i := range n {
		p := store.SitePart{Origin: layout.Origin{Site: "b", Epoch: uint64(i)}, Part: coded.NewPart(size, kind.Counts())}
		if err := p.Part.Merge(cellsOf(r, size, 4)); err != nil {
			tb.Fatal(err)
		}
		if kind == layout.SketchFilter && i == n-1 {
			p.Loading = coded.NewPart(size, false)
			if err := p.Loading.Merge(cellsOf(r, size, 100)); err != nil {
				tb.Fatal(err)
			}
		}
		epochs = append(epochs, p)
	}
	return epochs
}

// A record that has cells in many blocks costs no decoding of whole blocks. The filters have 8 blocks
// of bits, or 64 of counts.
func TestFresh(t *testing.T) {
	const size = 1 << 18
	for _, kind := range []layout.Kind{layout.SpamFilter, layout.SketchFilter, layout.CountFilter} {
		r := rand.New(rand.NewPCG(1, 2))
		epochs := fullEpochs(t, r, kind, size, 3)
		o := epochs[1].Origin
		known := make(map[uint64]bool)
		for _, p := range epochs {
			for i := range filter.Blocks(size, kind.Counts()) {
				for _, c := range p.Block(i, nil) {
					known[c.Pos] = known[c.Pos] || !kind.Counts() || p.Origin == o
				}
			}
		}
		for _, step := range []uint64{3, 500, 10_000} {
			s := wire.DeltaSection{Target: layout.Target{Kind: kind}, Cells: cellsOf(r, size, step)}
			want := 0
			for _, c := range s.Cells {
				if !known[c.Pos] {
					want++
				}
			}
			if n := fresh(epochs, o, s); n != want || want == 0 || want == len(s.Cells) {
				t.Errorf("%s: %d of %d cells are new, want %d", kind, n, len(s.Cells), want)
			}
			if n := testing.AllocsPerRun(1, func() { fresh(epochs, o, s) }); n > 0 {
				t.Errorf("%s: %v allocations for %d cells: blocks are decoded", kind, n, len(s.Cells))
			}
		}
	}
}

func BenchmarkFresh(b *testing.B) {
	for _, kind := range []layout.Kind{layout.SpamFilter, layout.CountFilter} {
		r := rand.New(rand.NewPCG(1, 2))
		const size = 1 << 24
		epochs := fullEpochs(b, r, kind, size, 8)
		for _, step := range []uint64{3, 9000} {
			s := wire.DeltaSection{Target: layout.Target{Kind: kind}, Cells: cellsOf(r, size, step)}
			b.Run(kind.String(), func(b *testing.B) {
				for b.Loop() {
					fresh(epochs, epochs[1].Origin, s)
				}
				b.ReportMetric(float64(len(s.Cells)), "cells")
			})
		}
	}
}
