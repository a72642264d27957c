package coded

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/filtertest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func hashes(seed uint64, n int) []filter.Hash {
	r := rand.New(rand.NewPCG(seed, 2))
	keys := make([]filter.Hash, n)
	for i := range keys {
		keys[i] = filtertest.Hash(r)
	}
	return keys
}

func drawCells(t *rapid.T, limit uint64, values bool) []filter.Cell {
	positions := rapid.SliceOfNDistinct(rapid.Uint64Range(0, limit-1), 0, 400, rapid.ID[uint64]).Draw(t, "positions")
	slices.Sort(positions)
	cells := make([]filter.Cell, len(positions))
	for i, p := range positions {
		cells[i] = filter.Cell{Pos: p, Value: 1}
		if values {
			cells[i].Value = rapid.Uint32Range(1, filter.MaxValue).Draw(t, "value")
		}
	}
	return cells
}

func TestCellsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.Bool().Draw(t, "values")
		limit := rapid.Uint64Range(1000, 1<<40).Draw(t, "limit")
		cells := drawCells(t, limit, values)
		code := AppendCells([]byte("head"), 0, cells, values)
		code = append(code, "tail"...)
		got, rest, err := DecodeCells(nil, code[4:], 0, limit, values)
		if err != nil || !slices.Equal(got, cells) || string(rest) != "tail" {
			t.Fatalf("%d cells became %d, rest %q, error %v", len(cells), len(got), rest, err)
		}
		for cut := range len(code) - 4 - 4 {
			if got, _, err := DecodeCells(nil, code[4:4+cut], 0, limit, values); err == nil && len(cells) > 0 {
				t.Fatalf("cut at %d: %d cells and no error", cut, len(got))
			}
		}
	})
}

// Coded bits never take more than one bit a position, and at low fill come close to the
// entropy.
func TestCellsSize(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	r := filtertest.Seeded(t, 7)
	for _, fill := range []float64{0.001, 0.01, 0.05, 0.2, 0.5, 0.9, 1} {
		var cells []filter.Cell
		const size = 1 << 20
		for p := range uint64(size) {
			if r.Float64() < fill {
				cells = append(cells, filter.Cell{Pos: p, Value: 1})
			}
		}
		bits := float64(len(AppendCells(nil, 0, cells, false))) * 8 / size
		entropy := 0.0
		if fill < 1 {
			entropy = -fill*math.Log2(fill) - (1-fill)*math.Log2(1-fill)
		}
		t.Logf("fill %.3f: %.4f bits a position, entropy %.4f", fill, bits, entropy)
		if bits > 1.001 || fill < 0.3 && bits > 1.07*entropy {
			t.Errorf("fill %g: %.4f bits a position, entropy %.4f", fill, bits, entropy)
		}
	}
}

func FuzzDecodeCells(f *testing.F) {
	f.Add(AppendCells(nil, 0, []filter.Cell{{Pos: 1, Value: 1}, {Pos: 2, Value: 1}, {Pos: 4000, Value: 1}}, false), uint64(4096), false)
	f.Add(AppendCells(nil, 0, []filter.Cell{{Pos: 0, Value: 7}, {Pos: 3, Value: filter.MaxValue}}, true), uint64(4), true)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}, uint64(1<<40), false)
	f.Add([]byte{}, uint64(1), true)
	f.Fuzz(func(t *testing.T, data []byte, limit uint64, values bool) {
		cells, rest, err := DecodeCells(nil, data, 0, limit, values)
		if err != nil {
			return
		}
		if len(rest) > len(data) || len(cells) > 8*len(data) {
			t.Fatalf("%d cells and %d bytes left of %d", len(cells), len(rest), len(data))
		}
		for i, c := range cells {
			if c.Pos >= limit || i > 0 && c.Pos <= cells[i-1].Pos || c.Value < 1 || c.Value > filter.MaxValue {
				t.Fatalf("cell %d: %+v", i, c)
			}
		}
		again, _, err := DecodeCells(nil, AppendCells(nil, 0, cells, values), 0, limit, values)
		if err != nil || !slices.Equal(again, cells) {
			t.Fatalf("coded again: %v", err)
		}
	})
}
