package filter

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func hash(r *rand.Rand) Hash { return Hash{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()} }

func seeded(t testing.TB, seed uint64) *rand.Rand {
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

func TestHashBytes(t *testing.T) {
	r := seeded(t, 1)
	for range 100 {
		h := hash(r)
		if got := HashBytes(h.Bytes()); got != h {
			t.Fatalf("%v became %v", h, got)
		}
	}
}

func TestCountsShapesFromOutside(t *testing.T) {
	for _, s := range []CountsShape{{}, {Lines: MaxLines + 1}, {Lines: math.MaxUint64}} {
		if _, err := NewCounts(s); err == nil {
			t.Errorf("counts %+v: no error", s)
		}
	}
}

// A count is never too low, and never above that of an intuitive counting filter (the sum
// over all keys that share each cell).
func TestCountsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := CountsShape{Lines: rapid.Uint64Range(1, 70).Draw(t, "lines")}
		c, err := NewCounts(shape)
		if err != nil {
			t.Fatal(err)
		}
		truth := make(map[Hash]uint32)
		intuitive := make(map[uint64]uint32)
		keys := rapid.IntRange(1, 40).Draw(t, "keys")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		known := make([]Hash, keys)
		for i := range known {
			known[i] = hash(r)
		}
		for range rapid.IntRange(0, 300).Draw(t, "adds") {
			h, d := known[r.IntN(keys)], uint32(r.IntN(40)+1)
			truth[h] += d
			for _, p := range shape.Positions(h) {
				intuitive[p] += d
			}
			if got := c.Add(h, d); got != c.Count(h) {
				t.Fatalf("add says %d, count %d", got, c.Count(h))
			}
		}
		for h, n := range truth {
			upper := uint32(math.MaxUint32)
			for _, p := range shape.Positions(h) {
				upper = min(upper, intuitive[p])
			}
			if got := c.Count(h); got < n || got > upper {
				t.Fatalf("count %d, added %d times, at most %d", got, n, upper)
			}
		}
	})
}

func TestCountsRaiseIsIdempotent(t *testing.T) {
	r := seeded(t, 4)
	a, _ := NewCounts(CountsShape{Lines: 64})
	b, _ := NewCounts(CountsShape{Lines: 64})
	type step struct {
		h Hash
		t uint32
	}
	var log []step
	for range 2000 {
		h := Hash{r.Uint64N(200) << 50, r.Uint64N(3)}
		log = append(log, step{h, a.Add(h, uint32(r.IntN(5)+1))})
	}
	for range 3 { // in any order, any number of times
		r.Shuffle(len(log), func(i, j int) { log[i], log[j] = log[j], log[i] })
		for _, s := range log {
			b.Raise(s.h, s.t)
		}
	}
	for i := range Blocks(a.Shape().Size(), true) {
		if !slices.Equal(a.Block(i, nil), b.Block(i, nil)) {
			t.Fatalf("block %d differs", i)
		}
	}
	if a.Used() != b.Used() {
		t.Errorf("used %d and %d", a.Used(), b.Used())
	}
}

func TestCountsSaturate(t *testing.T) {
	c, _ := NewCounts(CountsShape{Lines: 32})
	h := Hash{1, 2}
	c.Add(h, MaxValue-1)
	c.Add(h, 100)
	if got := c.Count(h); got != MaxValue {
		t.Errorf("count %d, want %d", got, MaxValue)
	}
	if got := c.Add(Hash{3, 4}, math.MaxUint32); got != MaxValue || c.Count(Hash{3, 4}) != MaxValue {
		t.Errorf("a count beyond MaxValue became %d, then %d", got, c.Count(Hash{3, 4}))
	}
	r := seeded(t, 5)
	for range 3000 { // one chunk of 4,096 cells, far more than 512 of them above 14
		c.Add(hash(r), 20)
	}
	if c.Saturated() == 0 {
		t.Error("no raise was lost to a full overflow table")
	}
	if limit := int64(32*64 + 8 + 1024*4); c.Bytes() > limit {
		t.Errorf("%d bytes, must be at most %d", c.Bytes(), limit)
	}
	if got := c.Count(h); got != MaxValue {
		t.Errorf("an earlier count is %d", got)
	}
}

func TestCountsParallel(t *testing.T) {
	c, _ := NewCounts(SizeCounts(1000))
	var wg sync.WaitGroup
	const adds = 2000
	for w := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 6))
			for range adds {
				c.Add(Hash{7, 7}, 1)
				c.Add(hash(r), 1)
				c.Count(hash(r))
			}
		})
	}
	wg.Wait()
	if got := c.Count(Hash{7, 7}); got < 4*adds {
		t.Errorf("count %d, added %d times", got, 4*adds)
	}
	used := int64(0)
	for i := range Blocks(c.Shape().Size(), true) {
		used += int64(len(c.Block(i, nil)))
	}
	if c.Used() != used || c.Changes() != 8*adds {
		t.Errorf("%d cells used, there are %d; %d changes, there were %d", c.Used(), used, c.Changes(), 8*adds)
	}
}

func drawCells(t *rapid.T, limit uint64, values bool) []Cell {
	positions := rapid.SliceOfNDistinct(rapid.Uint64Range(0, limit-1), 0, 400, rapid.ID[uint64]).Draw(t, "positions")
	slices.Sort(positions)
	cells := make([]Cell, len(positions))
	for i, p := range positions {
		cells[i] = Cell{Pos: p, Value: 1}
		if values {
			cells[i].Value = rapid.Uint32Range(1, MaxValue).Draw(t, "value")
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
	r := seeded(t, 7)
	for _, fill := range []float64{0.001, 0.01, 0.05, 0.2, 0.5, 0.9, 1} {
		var cells []Cell
		const size = 1 << 20
		for p := range uint64(size) {
			if r.Float64() < fill {
				cells = append(cells, Cell{p, 1})
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

// A part is the map of maxima of the merged cells, in any order and with any repetition.
func TestPartModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.Bool().Draw(t, "values")
		size := rapid.Uint64Range(1, 3*bitBlock+5).Draw(t, "size")
		p := NewPart(size, values)
		model := make(map[uint64]uint32)
		for range rapid.IntRange(0, 6).Draw(t, "merges") {
			positions := rapid.SliceOfNDistinct(rapid.Uint64Range(0, size-1), 0, int(min(size, 60)), rapid.ID[uint64]).Draw(t, "positions")
			slices.Sort(positions)
			var cells []Cell
			for _, pos := range positions {
				v := uint32(1)
				if values {
					v = rapid.Uint32Range(1, 50).Draw(t, "value")
				}
				cells = append(cells, Cell{pos, v})
				model[pos] = max(model[pos], v)
			}
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				if err := p.Merge(cells); err != nil {
					t.Fatal(err)
				}
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

func TestPartRefusesWhatWasNotPromised(t *testing.T) {
	for name, cells := range map[string][]Cell{
		"beyond the end":  {{5, 1}, {100, 1}},
		"not ascending":   {{5, 1}, {4, 1}},
		"twice":           {{5, 1}, {5, 2}},
		"zero":            {{5, 0}},
		"too large value": {{5, MaxValue + 1}},
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
	r := seeded(t, 8)
	const sites, keys = 10, 4000
	shape := SizeBits(sites*keys, 1e-8, 8)
	counts := SizeCounts(sites * keys)
	bits, cells := int64(0), int64(0)
	for range sites {
		p, c := NewPart(shape.Size(), false), NewPart(counts.Size(), true)
		own, _ := NewBits(shape)
		count, _ := NewCounts(counts)
		for range keys {
			own.Set(hash(r))
			count.Add(hash(r), 1+uint32(r.ExpFloat64()*3))
		}
		for i := range Blocks(shape.Size(), false) {
			if err := p.Merge(own.Block(i, nil)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range Blocks(counts.Size(), true) {
			if err := c.Merge(count.Block(i, nil)); err != nil {
				t.Fatal(err)
			}
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

func FuzzDecodeCells(f *testing.F) {
	f.Add(AppendCells(nil, 0, []Cell{{1, 1}, {2, 1}, {4000, 1}}, false), uint64(4096), false)
	f.Add(AppendCells(nil, 0, []Cell{{0, 7}, {3, MaxValue}}, true), uint64(4), true)
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
			if c.Pos >= limit || i > 0 && c.Pos <= cells[i-1].Pos || c.Value < 1 || c.Value > MaxValue {
				t.Fatalf("cell %d: %+v", i, c)
			}
		}
		again, _, err := DecodeCells(nil, AppendCells(nil, 0, cells, values), 0, limit, values)
		if err != nil || !slices.Equal(again, cells) {
			t.Fatalf("coded again: %v", err)
		}
	})
}
