package filter

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// partModel is a part with a map of its expected content.
type partModel struct {
	part  *Part
	cells map[uint64]uint32
}

func (m *partModel) check(t *rapid.T) {
	if err := m.part.Check(); err != nil || m.part.Cells() != int64(len(m.cells)) {
		t.Fatalf("%d cells, model has %d, check: %v", m.part.Cells(), len(m.cells), err)
	}
	var got []Cell
	for i := range Blocks(m.part.size, m.part.values) {
		got = m.part.Block(i, got)
	}
	if !slices.Equal(got, ascending(m.cells)) {
		t.Fatalf("%d cells, some of which differ from the model", len(got))
	}
}

// A part is the map of maxima, with keys in few lines, so that blocks have many cells, long
// gaps, and late cells over a long time. Snapshots of it, installed block by block in
// another part, make the same part.
func TestPartOfKeysModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.Bool().Draw(t, "values")
		bits, counts := BitsShape{Lines: 200, K: 8, Span: 1}, CountsShape{Lines: 100}
		m := partModel{part: NewPart(bits.Size(), values), cells: make(map[uint64]uint32)}
		if values {
			m.part = NewPart(counts.Size(), true)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		other := partModel{part: NewPart(m.part.size, values), cells: make(map[uint64]uint32)}
		most := rapid.SampledFrom([]uint32{1, 15, 20, MaxValue}).Draw(t, "largest count")
		for range rapid.IntRange(1, 20).Draw(t, "merges") {
			some := make(map[uint64]uint32)
			for range rapid.SampledFrom([]int{1, 3, 20, 300}).Draw(t, "keys") {
				h, v := hash(r), uint32(1)
				positions := bits.Positions(h, nil)
				if values {
					at := counts.Positions(h)
					positions, v = at[:], 1+r.Uint32N(most)
				}
				for _, pos := range positions {
					some[pos] = max(some[pos], v)
					m.cells[pos] = max(m.cells[pos], v)
				}
				if got, want := m.part.Min(positions), m.min(positions); got > want {
					t.Fatalf("a key that comes has %d, at most %d", got, want)
				}
			}
			if err := m.part.Merge(ascending(some)); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				h := hash(r)
				positions := bits.Positions(h, nil)
				if values {
					at := counts.Positions(h)
					positions = at[:]
				}
				if got, want := m.part.Min(positions), m.min(positions); got != want {
					t.Fatalf("a key has %d, want %d", got, want)
				}
			}
		}
		m.check(t)
		for i := range Blocks(m.part.size, values) {
			if rapid.Bool().Draw(t, "something there") {
				pos := i << m.part.shift
				other.cells[pos] = 1
				if err := other.part.Merge([]Cell{{pos, 1}}); err != nil {
					t.Fatal(err)
				}
			}
			cells := m.part.Block(i, nil)
			got, err := other.part.Install(i, AppendCells(nil, i<<m.part.shift, cells, values), []Cell{{1, 7}})
			if err != nil || !slices.Equal(got[1:], cells) || got[0] != (Cell{1, 7}) {
				t.Fatalf("block %d installed: %d of %d cells, %v", i, len(got)-1, len(cells), err)
			}
		}
		for pos, v := range m.cells {
			other.cells[pos] = max(other.cells[pos], v)
		}
		other.check(t)
	})
}

func (m *partModel) min(positions []uint64) uint32 {
	least := uint32(MaxValue)
	for _, pos := range positions {
		least = min(least, m.cells[pos])
	}
	return least
}

func TestPartInstallRefuses(t *testing.T) {
	good := AppendCells(nil, countBlock, []Cell{{countBlock, 3}, {2*countBlock - 1, MaxValue}}, true)
	for name, tc := range map[string]struct {
		block uint64
		code  []byte
	}{
		"beyond the end":         {2, good},
		"cut short":              {1, good[:len(good)-1]},
		"bytes behind":           {1, append(slices.Clone(good), 0)},
		"a cell beyond the end":  {1, AppendCells(nil, 0, []Cell{{countBlock, 1}}, true)},
		"more than there can be": {1, append([]byte{0x81, 0x20, 0}, make([]byte, 5000)...)},
		"nothing":                {1, nil},
	} {
		p := NewPart(2*countBlock, true)
		empty := p.Bytes()
		if cells, err := p.Install(tc.block, tc.code, nil); err == nil || len(cells) > 0 || p.Cells() != 0 || p.Bytes() != empty {
			t.Errorf("%s: %v, %v, %d cells", name, err, cells, p.Cells())
		}
	}
	p := NewPart(2*countBlock, true)
	if _, err := p.Install(1, AppendCells(nil, countBlock, nil, true), nil); err != nil || p.Cells() != 0 {
		t.Errorf("no cells: %v, %d", err, p.Cells())
	}
}

// A block that was coded longer than needed takes no more memory than another.
func TestPartInstallCodesAnew(t *testing.T) {
	long := packBits("00000010 00100000 0" + strings.Repeat("0", 31) + "1 1 0 0" + strings.Repeat("0", 31) + "1 0")
	short, want := NewPart(countBlock, true), NewPart(countBlock, true)
	cells, err := short.Install(0, long, nil)
	if err != nil || !slices.Equal(cells, []Cell{{1, 2}, {4, 1}}) {
		t.Fatalf("%v, %v", cells, err)
	}
	if err := want.Merge(cells); err != nil || want.Bytes() != short.Bytes() || short.Check() != nil {
		t.Errorf("%v: %d bytes, should be %d, check: %v", err, short.Bytes(), want.Bytes(), short.Check())
	}
}

// Readers see every key merged before, while others are merged.
func TestPartParallel(t *testing.T) {
	shape := CountsShape{Lines: 64}
	p := NewPart(shape.Size(), true)
	r := seeded(t, 33)
	first := shape.Positions(hash(r))
	merge := func(positions [countK]uint64, v uint32) {
		var cells []Cell
		for _, pos := range positions {
			cells = append(cells, Cell{pos, v})
		}
		if err := p.Merge(cells); err != nil {
			t.Error(err)
		}
	}
	merge(first, 5)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if got := p.Min(first[:]); got < 5 {
					t.Errorf("count %d, want 5 or more", got)
				}
				p.Block(0, nil)
			}
		})
	}
	for range 1500 {
		merge(shape.Positions(hash(r)), 1+r.Uint32N(30))
	}
	close(done)
	wg.Wait()
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}
