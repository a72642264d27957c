package papers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func mustFlat(t rapid.TB, m uint64, width int) *Flat {
	t.Helper()
	f, err := NewFlat(m, width)
	testenv.Check(t, err)
	return f
}

func mustCounting(t rapid.TB, e Extension, k int, cells Cells) *Counting {
	t.Helper()
	c, err := NewCounting(e, k, cells)
	testenv.Check(t, err)
	return c
}

// drawStore draws a store of m cells of either kind.
func drawStore(t *rapid.T, m uint64) Cells {
	var cells Cells
	var err error
	if rapid.Bool().Draw(t, "split") {
		shape := SplitShape{
			Cells: m, Bits: rapid.IntRange(1, 16).Draw(t, "s"),
			Chunks: rapid.Uint64Range(1, max(1, m/256)).Draw(t, "N"),
		}
		shape.Limit = rapid.SampledFrom([]uint32{0, 1, 31, shape.Largest()}).Draw(t, "limit")
		cells, err = NewSplit(shape)
	} else {
		cells, err = NewFlat(m, rapid.IntRange(1, 32).Draw(t, "width"))
	}
	testenv.Check(t, err)
	return cells
}

// Cells hold what was written, whatever stands beside them, up and down.
func TestCellsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.Uint64Range(1, 2000).Draw(t, "m")
		cells := drawStore(t, m)
		model := make(map[uint64]uint32)
		near := rapid.Uint64Range(0, m-1).Draw(t, "near") // most stand close together
		for range rapid.IntRange(0, 200).Draw(t, "writes") {
			pos := min(m-1, near+rapid.Uint64Range(0, 40).Draw(t, "pos"))
			v := rapid.Uint32Range(0, cells.Max()).Draw(t, "value")
			cells.SetCell(pos, v)
			model[pos] = v
		}
		over := 0
		for pos := range m {
			if got := cells.Cell(pos); got != model[pos] {
				t.Fatalf("cell %d is %d, want %d", pos, got, model[pos])
			}
			if s, ok := cells.(*Split); ok && model[pos]>>s.shape.Bits > 0 {
				over++
			}
		}
		if s, ok := cells.(*Split); ok && s.Overflowed() != over {
			t.Fatalf("%d entries of tables, model has %d", s.Overflowed(), over)
		}
		cells.Reset()
		if cells.Cell(near) != 0 || cells.Cell(m-1) != 0 {
			t.Fatal("cells after a reset")
		}
	})
}

// insertOne is the paper's text, word for word, on a plain slice.
func insertOne(cells []uint64, positions []uint64, e Extension, limit uint64) {
	distinct := slices.Compact(slices.Sorted(slices.Values(positions)))
	least := uint64(math.MaxUint64)
	for _, pos := range distinct {
		least = min(least, cells[pos])
	}
	for _, pos := range distinct {
		if (e == Intuitive || cells[pos] == least) && cells[pos] < limit {
			cells[pos]++
		}
	}
}

// Add of d is the paper's insertion d times, for both extensions and all stores;
// no count is below the truth or, below saturation, above the intuitive one.
func TestCountingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.Uint64Range(1, 60).Draw(t, "m")
		k := rapid.IntRange(1, 6).Draw(t, "k")
		extension := rapid.SampledFrom([]Extension{Intuitive, Refined}).Draw(t, "extension")
		c, err := NewCounting(extension, k, drawStore(t, m))
		testenv.Check(t, err)
		key := rapid.SliceOfN(rapid.Uint64Range(0, m-1), k, k)
		keys := rapid.SliceOfN(key, 1, 8).Draw(t, "keys")
		model, intuitive := make([]uint64, m), make([]uint64, m)
		truth := make([]uint32, len(keys))
		for range rapid.IntRange(0, 20).Draw(t, "insertions") {
			i := rapid.IntRange(0, len(keys)-1).Draw(t, "key")
			d := rapid.Uint32Range(0, 40).Draw(t, "d")
			for range d {
				insertOne(model, keys[i], extension, uint64(c.Cells().Max()))
				insertOne(intuitive, keys[i], Intuitive, math.MaxUint64)
			}
			truth[i] += d
			if got := c.Add(keys[i], d); got != c.Count(keys[i]) {
				t.Fatalf("add said %d, count says %d", got, c.Count(keys[i]))
			}
		}
		for pos, want := range model {
			if got := c.Cells().Cell(uint64(pos)); uint64(got) != want {
				t.Fatalf("cell %d is %d, the paper's %d", pos, got, want)
			}
		}
		for i, positions := range keys {
			got, most := c.Count(positions), intuitive[slices.MinFunc(positions, func(a, b uint64) int {
				return int(intuitive[a]) - int(intuitive[b])
			})]
			if got < min(truth[i], c.Cells().Max()) || uint64(got) > most {
				t.Fatalf("key %v counts %d, inserted %d times, intuitive %d", positions, got, truth[i], most)
			}
		}
	})
}

// Huge batches stop at the largest count and never wrap around.
func TestCountingSaturates(t *testing.T) {
	for _, e := range []Extension{Intuitive, Refined} {
		c := mustCounting(t, e, 2, mustFlat(t, 10, 32))
		for range 3 {
			c.Add([]uint64{1, 2}, math.MaxUint32-1)
		}
		if got := c.Count([]uint64{1, 2}); got != math.MaxUint32 {
			t.Errorf("%v: %d", e, got)
		}
		c = mustCounting(t, e, 2, mustFlat(t, 10, 5))
		if got := c.Add([]uint64{1, 2}, 40); got != 31 || c.Count([]uint64{1, 2}) != 31 {
			t.Errorf("%v, 5 bits: %d", e, got)
		}
	}
}

// H2: a cell that two hashes of one key hit counts the key once.
func TestCountingHitsACellOnce(t *testing.T) {
	for _, e := range []Extension{Intuitive, Refined} {
		c := mustCounting(t, e, 3, mustFlat(t, 10, 8))
		c.Add([]uint64{4, 4, 7}, 5)
		if a, b := c.Cells().Cell(4), c.Cells().Cell(7); a != 5 || b != 5 {
			t.Errorf("%v: cells %d and %d after 5 insertions", e, a, b)
		}
	}
}

func TestCountingRefuses(t *testing.T) {
	flat := func(m uint64, width int) func() error {
		return func() error { _, err := NewFlat(m, width); return err }
	}
	split := func(s SplitShape) func() error {
		return func() error { _, err := NewSplit(s); return err }
	}
	for _, tc := range []struct {
		make func() error
		want string
	}{
		{flat(10, 0), "width is 0"},
		{flat(10, 33), "width is 33"},
		{flat(0, 5), "m is 0"},
		{flat(maxPositions, 5), "flat cells of 5 bits: m is 68719476736"},
		{flat(math.MaxUint64, 1), "m is 18446744073709551615"},
		{split(SplitShape{Cells: 1000, Bits: 0, Chunks: 1}), "s is 0"},
		{split(SplitShape{Cells: 1000, Bits: 17, Chunks: 1}), "s is 17"},
		{split(SplitShape{Cells: 0, Bits: 3, Chunks: 1}), "m is 0"},
		{split(SplitShape{Cells: 1000, Bits: 3, Chunks: 0}), "0 chunks (N)"},
		{split(SplitShape{Cells: 1000, Bits: 3, Chunks: 4}), "4 chunks (N), must be 1 to 3"},
		{split(SplitShape{Cells: math.MaxUint64, Bits: 3, Chunks: math.MaxUint64}), "m is 18446744073709551615"},
		{split(SplitShape{Cells: 1<<24 + 1, Bits: 3, Chunks: 1}), "16777217 cells each"},
		{split(SplitShape{Cells: 4096, Bits: 3, Chunks: 1, Limit: 1 << 23}), "limit is 8388608, must be at most 8388607"},
		{func() error { _, err := NewCounting(Extension(2), 4, mustFlat(t, 10, 5)); return err }, "unknown extension 2"},
		{func() error { _, err := NewCounting(Refined, 0, mustFlat(t, 10, 5)); return err }, "k is 0"},
	} {
		if err := tc.make(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}

// The sizes of a split store, worked by hand: 4,096 cells of 3+1 bits, of which
// 5 hold 8 or more, in one table of 8 slots.
func TestSplitBytes(t *testing.T) {
	s, err := NewSplit(SplitShape{Cells: 4096, Bits: 3, Chunks: 1})
	testenv.Check(t, err)
	for i := range uint64(5) {
		s.SetCell(i, 8)
		s.SetCell(100+i, 7) // 2^3-1 is the largest that fits; 2^3 is not
	}
	if got := s.Bytes(); got != 2048+8+32+8*4 || s.Overflowed() != 5 {
		t.Errorf("%d bytes, %d entries", got, s.Overflowed())
	}
}

func BenchmarkCountingAdd(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const m, n, k = 80_000, 10_000, 6
	keys := make([]uint64, n*k)
	for i := range keys {
		keys[i] = r.Uint64N(m)
	}
	split, err := NewSplit(SplitShape{Cells: m, Bits: 3, Chunks: 20})
	testenv.Check(b, err)
	for name, cells := range map[string]Cells{"flat6": mustFlat(b, m, 6), "split3": split} {
		for _, e := range []Extension{Intuitive, Refined} {
			b.Run(fmt.Sprintf("%s/%v", name, e), func(b *testing.B) {
				c := mustCounting(b, e, k, cells)
				i := 0
				for b.Loop() {
					c.Add(keys[i*k:i*k+k], 1)
					if i++; i == n {
						i = 0
					}
				}
			})
		}
	}
}
