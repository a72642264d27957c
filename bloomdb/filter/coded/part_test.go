package coded

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/filtertest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A part equals the map of the greatest merged values, in any order and with any repetition.
func TestPartModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.Bool().Draw(t, "values")
		size := rapid.Uint64Range(1, 3*filter.BlockSize(false)+5).Draw(t, "size")
		p := NewPart(size, values)
		model := make(map[uint64]uint32)
		for range rapid.IntRange(0, 6).Draw(t, "merges") {
			positions := rapid.SliceOfNDistinct(rapid.Uint64Range(0, size-1), 0, int(min(size, 60)), rapid.ID[uint64]).Draw(t, "positions")
			slices.Sort(positions)
			var cells []filter.Cell
			for _, pos := range positions {
				v := uint32(1)
				if values {
					v = rapid.Uint32Range(1, 50).Draw(t, "value")
				}
				cells = append(cells, filter.Cell{Pos: pos, Value: v})
				model[pos] = max(model[pos], v)
			}
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				testenv.Check(t, p.Merge(cells))
			}
		}
		if err := p.Check(); err != nil || p.Cells() != int64(len(model)) {
			t.Fatalf("%d cells, model has %d, check: %v", p.Cells(), len(model), err)
		}
		for range 20 {
			pos := rapid.Uint64Range(0, size-1).Draw(t, "pos")
			other := rapid.Uint64Range(0, size-1).Draw(t, "other")
			if got, want := p.Min([]uint64{min(pos, other), max(pos, other)}), min(model[pos], model[other]); got != want {
				t.Fatalf("min of %d and %d is %d, want %d", pos, other, got, want)
			}
		}
	})
}

// Next finds each block that has cells, from any block on, and none behind the last.
func TestPartNext(t *testing.T) {
	for _, values := range []bool{false, true} {
		size, block := 300*filter.BlockSize(values)-7, filter.BlockSize(values)
		p := NewPart(size, values)
		want := []uint64{0, 1, 63, 64, 200, 299}
		for _, b := range want {
			testenv.Check(t, p.Merge([]filter.Cell{{Pos: b * block, Value: 1}}))
		}
		for i := range uint64(310) {
			n, _ := slices.BinarySearch(want, i)
			if got := p.Next(i); n < len(want) && got != want[n] || n == len(want) && got < 300 {
				t.Errorf("values %v: the first block from %d on is %d", values, i, got)
			}
		}
	}
}

func TestPartRefusesInvalidCells(t *testing.T) {
	for name, cells := range map[string][]filter.Cell{
		"beyond the end":  {{Pos: 5, Value: 1}, {Pos: 100, Value: 1}},
		"not ascending":   {{Pos: 5, Value: 1}, {Pos: 4, Value: 1}},
		"twice":           {{Pos: 5, Value: 1}, {Pos: 5, Value: 2}},
		"zero":            {{Pos: 5, Value: 0}},
		"too large value": {{Pos: 5, Value: filter.MaxValue + 1}},
	} {
		p := NewPart(100, true)
		if err := p.Merge(cells); err == nil || p.Cells() != 0 {
			t.Errorf("%s: error %v, %d cells", name, err, p.Cells())
		}
	}
}

// Ten sites with a tenth of the reports each, held as parts, take less than twice the
// memory of the one filter for their union.
func TestPartsMemory(t *testing.T) {
	r := filtertest.Seeded(t, 8)
	const sites, keys = 10, 4000
	shape := filter.SizeBits(sites*keys, 1e-8, 8)
	counts := filter.SizeCounts(sites * keys)
	bits, cells := int64(0), int64(0)
	for range sites {
		p, c := NewPart(shape.Size(), false), NewPart(counts.Size(), true)
		own, _ := filter.NewBits(shape)
		count, _ := filter.NewCounts(counts)
		for range keys {
			own.Set(filtertest.Hash(r))
			count.Add(filtertest.Hash(r), 1+uint32(r.ExpFloat64()*3))
		}
		for i := range filter.Blocks(shape.Size(), false) {
			testenv.Check(t, p.Merge(own.Block(i, nil)))
		}
		for i := range filter.Blocks(counts.Size(), true) {
			testenv.Check(t, c.Merge(count.Block(i, nil)))
		}
		bits += p.Bytes()
		cells += c.Bytes()
	}
	one := int64(counts.Lines) * 64
	t.Logf("bits: parts %.2f of one filter; counts: %.2f", float64(bits)/float64(shape.Bytes()), float64(cells)/float64(one))
	if bits > 2*shape.Bytes() || cells > 2*one {
		t.Errorf("parts take %d of %d bytes, counts %d of %d", bits, shape.Bytes(), cells, one)
	}
}

const countBlock = 1 << 12 // cells of a block

// partModel is a part with a map of its expected content.
type partModel struct {
	part  *Part
	cells map[uint64]uint32
}

func (m *partModel) check(t *rapid.T) {
	if err := m.part.Check(); err != nil || m.part.Cells() != int64(len(m.cells)) {
		t.Fatalf("%d cells, model has %d, check: %v", m.part.Cells(), len(m.cells), err)
	}
	var got []filter.Cell
	for i := range filter.Blocks(m.part.size, m.part.values) {
		got = m.part.Block(i, got)
	}
	if !slices.Equal(got, ascending(m.cells)) {
		t.Fatalf("%d cells, and some differ from the model", len(got))
	}
}

// The same with keys in few lines, so that blocks have many cells, long gaps, and late cells
// over a long time. Snapshots of a part, installed block by block in another one, result in the
// same part.
func TestPartOfKeysModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.Bool().Draw(t, "values")
		bits, counts := filter.BitsShape{Lines: 200, K: 8, Span: 1}, filter.CountsShape{Lines: 100}
		m := partModel{part: NewPart(bits.Size(), values), cells: make(map[uint64]uint32)}
		if values {
			m.part = NewPart(counts.Size(), true)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		other := partModel{part: NewPart(m.part.size, values), cells: make(map[uint64]uint32)}
		most := rapid.SampledFrom([]uint32{1, 15, 20, filter.MaxValue}).Draw(t, "largest count")
		for range rapid.IntRange(1, 20).Draw(t, "merges") {
			some := make(map[uint64]uint32)
			for range rapid.SampledFrom([]int{1, 3, 20, 300}).Draw(t, "keys") {
				h, v := filtertest.Hash(r), uint32(1)
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
					t.Fatalf("a new key has %d, want at most %d", got, want)
				}
			}
			testenv.Check(t, m.part.Merge(ascending(some)))
			for range 20 {
				h := filtertest.Hash(r)
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
		for i := range filter.Blocks(m.part.size, values) {
			if rapid.Bool().Draw(t, "something there") {
				pos := i << m.part.shift
				other.cells[pos] = 1
				testenv.Check(t, other.part.Merge([]filter.Cell{{Pos: pos, Value: 1}}))
			}
			cells := m.part.Block(i, nil)
			got, err := other.part.Install(i, AppendCells(nil, i<<m.part.shift, cells, values), []filter.Cell{{Pos: 1, Value: 7}}, acceptAll)
			if err != nil || !slices.Equal(got[1:], cells) || got[0] != (filter.Cell{Pos: 1, Value: 7}) {
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
	least := uint32(filter.MaxValue)
	for _, pos := range positions {
		least = min(least, m.cells[pos])
	}
	return least
}

func TestPartInstallRefuses(t *testing.T) {
	good := AppendCells(nil, countBlock, []filter.Cell{{Pos: countBlock, Value: 3}, {Pos: 2*countBlock - 1, Value: filter.MaxValue}}, true)
	for name, tc := range map[string]struct {
		block uint64
		code  []byte
	}{
		"beyond the end":         {2, good},
		"cut short":              {1, good[:len(good)-1]},
		"bytes behind":           {1, append(slices.Clone(good), 0)},
		"a cell beyond the end":  {1, AppendCells(nil, 0, []filter.Cell{{Pos: countBlock, Value: 1}}, true)},
		"more than there can be": {1, append([]byte{0x81, 0x20, 0}, make([]byte, 5000)...)},
		"nothing":                {1, nil},
	} {
		p := NewPart(2*countBlock, true)
		empty := p.Bytes()
		if cells, err := p.Install(tc.block, tc.code, nil, acceptAll); err == nil || len(cells) > 0 || p.Cells() != 0 || p.Bytes() != empty {
			t.Errorf("%s: %v, %v, %d cells", name, err, cells, p.Cells())
		}
	}
	p := NewPart(2*countBlock, true)
	if _, err := p.Install(1, AppendCells(nil, countBlock, nil, true), nil, acceptAll); err != nil || p.Cells() != 0 {
		t.Errorf("no cells: %v, %d", err, p.Cells())
	}
}

// A block with a code longer than needed takes no more memory than any other.
func TestPartInstallRecodes(t *testing.T) {
	long := packBits("00000010 00100000 0" + strings.Repeat("0", 31) + "1 1 0 0" + strings.Repeat("0", 31) + "1 0")
	short, want := NewPart(countBlock, true), NewPart(countBlock, true)
	cells, err := short.Install(0, long, nil, acceptAll)
	if err != nil || !slices.Equal(cells, []filter.Cell{{Pos: 1, Value: 2}, {Pos: 4, Value: 1}}) {
		t.Fatalf("%v, %v", cells, err)
	}
	if err := want.Merge(cells); err != nil || want.Bytes() != short.Bytes() || short.Check() != nil {
		t.Errorf("%v: %d bytes, should be %d, check: %v", err, short.Bytes(), want.Bytes(), short.Check())
	}
}

// Readers see every key merged before, while others are merged.
func TestPartParallel(t *testing.T) {
	shape := filter.CountsShape{Lines: 64}
	p := NewPart(shape.Size(), true)
	r := filtertest.Seeded(t, 33)
	first := shape.Positions(filtertest.Hash(r))
	merge := func(positions [4]uint64, v uint32) {
		var cells []filter.Cell
		for _, pos := range positions {
			cells = append(cells, filter.Cell{Pos: pos, Value: v})
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
		merge(shape.Positions(filtertest.Hash(r)), 1+r.Uint32N(30))
	}
	close(done)
	wg.Wait()
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

func acceptAll([]filter.Cell) error { return nil }
