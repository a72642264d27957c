package iterative

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/filtertest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func newFilter(t testing.TB, shape Shape) *Filter {
	t.Helper()
	f, err := New(shape)
	testenv.Check(t, err)
	return f
}

func TestShape(t *testing.T) {
	good := Shape{M: 1000, K: 5, Walk: 64, MaxFill: 0.5}
	for _, tc := range []struct {
		want   string
		change func(*Shape)
	}{
		{"m is 0", func(s *Shape) { s.M = 0 }},
		{"m is 9223372036854775808", func(s *Shape) { s.M = 1 << 63 }},
		{"k is 0", func(s *Shape) { s.K = 0 }},
		{"k is 65", func(s *Shape) { s.K = 65 }},
		{"walk is 0", func(s *Shape) { s.Walk = 0 }},
		{"walk is 1048577", func(s *Shape) { s.Walk = maxWalk + 1 }},
		{"fill limit is 0", func(s *Shape) { s.MaxFill = 0 }},
		{"fill limit is 1", func(s *Shape) { s.MaxFill = 1 }},
		{"fill limit is NaN", func(s *Shape) { s.MaxFill = math.NaN() }},
		{"m is 9: too small for a single key of k=5 at the fill limit 0.5", func(s *Shape) { s.M = 9 }},
	} {
		shape := good
		tc.change(&shape)
		if _, err := New(shape); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", shape, err, tc.want)
		}
	}
	if f := newFilter(t, good); f.shape != good || good.Bytes() != 128 {
		t.Errorf("shape %+v of %d bytes", f.shape, good.Bytes())
	}
}

// looped is a sequence that any generator could have produced: its positions repeatedly.
func looped(positions []uint64) filter.Sequence {
	i := -1
	return func() uint64 {
		i++
		return positions[i%len(positions)]
	}
}

// model implements the paper's tables with a set of positions.
type model struct {
	shape Shape
	ones  map[uint64]bool
	adds  map[int]int // number of accepted Adds of each key
	walks []float64   // 1/(1-p) for each Add to a filter that was not full
}

// fill is p.
func (m *model) fill() float64 { return float64(len(m.ones)) / float64(m.shape.M) }

// count returns the corrected estimate for a run: the ones beyond K, minus those set by
// chance, divided by the mean walk.
func (m *model) count(run int) float64 {
	sum := 0.0
	for _, walk := range m.walks {
		sum += walk
	}
	mean, chance := sum/float64(len(m.walks)), m.fill()/(1-m.fill())
	return max(1, 1+(float64(run-m.shape.K)-chance)/mean)
}

// add reports whether the key could be counted.
func (m *model) add(key int, positions []uint64) bool {
	if float64(len(m.ones)+m.shape.K) > m.shape.MaxFill*float64(m.shape.M) {
		return false
	}
	m.walks = append(m.walks, 1/(1-m.fill()))
	first := positions[:m.shape.K]
	isNew := false
	for _, pos := range first {
		isNew = isNew || !m.ones[pos]
	}
	if isNew {
		for _, pos := range first {
			m.ones[pos] = true
		}
		m.adds[key]++
		return true
	}
	for _, pos := range positions[m.shape.K:][:m.shape.Walk] {
		if !m.ones[pos] {
			m.ones[pos] = true
			m.adds[key]++
			return true
		}
	}
	return false
}

// The filter has the bits of the model and refuses the same keys. No run is shorter than
// the number of times its key was added.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := Shape{
			M:       rapid.Uint64Range(40, 400).Draw(t, "m"),
			K:       rapid.IntRange(1, 6).Draw(t, "k"),
			Walk:    rapid.IntRange(1, 12).Draw(t, "walk"),
			MaxFill: rapid.Float64Range(0.2, 0.9).Draw(t, "fill limit"),
		}
		f, err := New(shape)
		testenv.Check(t, err)
		keys := make([][]uint64, 8)
		for i := range keys {
			keys[i] = rapid.SliceOfN(rapid.Uint64Range(0, shape.M-1), shape.K+shape.Walk, shape.K+shape.Walk).Draw(t, "positions")
		}
		model := &model{shape: shape, ones: make(map[uint64]bool), adds: make(map[int]int)}
		for range rapid.IntRange(0, 60).Draw(t, "adds") {
			key := rapid.IntRange(0, len(keys)-1).Draw(t, "key")
			if got, want := f.Add(looped(keys[key])), model.add(key, keys[key]); got != want {
				t.Fatalf("key %d was counted: %v, model has %v", key, got, want)
			}
		}
		if f.Ones() != uint64(len(model.ones)) || f.Fill() > shape.MaxFill {
			t.Fatalf("%d ones, model has %d; fill %v", f.Ones(), len(model.ones), f.Fill())
		}
		for key, positions := range keys {
			run := 0
			for run < len(positions) && model.ones[positions[run]] {
				run++
			}
			e := f.Estimate(looped(positions))
			if e.Run != run || e.Found != (run >= shape.K) || e.AtLeast != (run == len(positions)) {
				t.Fatalf("key %d: %+v, run in the model %d", key, e, run)
			}
			if want := model.count(run); e.Found && math.Abs(e.Count-want) > 1e-9*want {
				t.Fatalf("key %d with a run of %d counts %v, model has %v", key, run, e.Count, want)
			}
			if n := model.adds[key]; n > 0 && (!e.Found || e.Run-shape.K+1 < n || e.Count < 1) {
				t.Fatalf("key %d was added %d times: %+v", key, n, e)
			}
			if !e.Found && e.Count != 0 {
				t.Fatalf("key %d is not found: %+v", key, e)
			}
		}
	})
}

func TestStopsAtItsLimit(t *testing.T) {
	r := filtertest.Seeded(t, 3)
	shape := Shape{M: Size(1000, 1000, 5, 0.5), K: 5, Walk: 64, MaxFill: 0.5}
	f := newFilter(t, shape)
	taken := 0
	for range 2000 {
		h := filtertest.Hash(r)
		ones := f.Ones()
		if f.Add(h.Sequence(shape.M)) {
			taken++
		} else if !f.Full() || f.Ones() != ones {
			t.Fatalf("refused at %d ones of %d, then %d", ones, shape.M, f.Ones())
		}
	}
	// Planned for about a thousand keys: the number of ones has a deviation of less than
	// the root of m, which is a key for every three bits.
	if d := math.Abs(float64(taken) - 1000); d > 4*math.Sqrt(float64(shape.M))/2.5 || f.adds != uint64(taken) {
		t.Errorf("accepted %d keys, planned for 1000; %d adds", taken, f.adds)
	}
	f.Reset()
	if f.Full() || f.Ones() != 0 || f.adds != 0 || f.Estimate(filtertest.Hash(r).Sequence(shape.M)).Run != 0 {
		t.Errorf("after Reset: %d ones, %d adds", f.Ones(), f.adds)
	}
}

// For a key that comes more often than its walk allows, the estimate is a minimum.
func TestWalkEnds(t *testing.T) {
	h := filtertest.Hash(filtertest.Seeded(t, 4))
	shape := Shape{M: 1 << 16, K: 5, Walk: 64, MaxFill: 0.5}
	f := newFilter(t, shape)
	counted := 0
	for range 100 {
		if f.Add(h.Sequence(shape.M)) {
			counted++
		}
	}
	e := f.Estimate(h.Sequence(shape.M))
	if counted != 65 || !e.AtLeast || e.Run != 69 || math.Abs(e.Count-65) > 0.5 {
		t.Errorf("counted %d of 100, estimate %+v", counted, e)
	}
}

// mixture adds distinct keys, one of them repeats times as often, evenly mixed, and returns
// the frequent one.
func mixture(r *rand.Rand, f *Filter, distinct, repeats int) filter.Hash {
	heavy := filtertest.Hash(r)
	order := make([]bool, distinct+repeats)
	for i := range repeats {
		order[i] = true
	}
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, again := range order {
		h := heavy
		if !again {
			h = filtertest.Hash(r)
		}
		f.Add(h.Sequence(f.shape.M))
	}
	return heavy
}

// expectedFill returns the share of ones after that many Adds of that many distinct keys,
// evenly mixed: the inverse of Size.
func expectedFill(s Shape, distinct, adds float64) float64 {
	thrown := float64(s.K) * distinct
	return min(1, (1+(adds-distinct)/thrown)*-math.Expm1(-thrown/float64(s.M)))
}

// The fill, the error and the estimate agree with the documentation. Calculated by hand:
// k=5, m=7.2135 bits an Add, alpha 0.7: (3.8/3.5)(1-exp(-3.5/7.2135)) = 0.4173.
func TestAgainstItsFormulas(t *testing.T) {
	r := filtertest.Seeded(t, 5)
	const distinct, repeats, rounds = 7000, 3000, 8
	shape := Shape{M: 72135, K: 5, Walk: 1 << 16, MaxFill: 0.9}
	expected := expectedFill(shape, distinct, distinct+repeats)
	if math.Abs(expected-0.4173) > 1e-4 {
		t.Errorf("expected fill is %v", expected)
	}
	f := newFilter(t, shape)
	var fill, corrected, found float64
	for range rounds {
		f.Reset()
		heavy := mixture(r, f, distinct, repeats)
		e := f.Estimate(heavy.Sequence(shape.M))
		fill += f.Fill() / rounds
		corrected += e.Count / repeats / rounds
		for range 10000 {
			if f.Estimate(filtertest.Hash(r).Sequence(shape.M)).Found {
				found++
			}
		}
	}
	// A run of 3,000 repetitions deviates by 1.5 %, the mean of 8 by 0.53 %.
	if math.Abs(corrected-1) > 4*0.0053 {
		t.Errorf("a key added %d times reads %.4f of it", repeats, corrected)
	}
	if math.Abs(fill-expected) > 0.002 {
		t.Errorf("fill %.4f, expected %.4f", fill, expected)
	}
	want := math.Pow(expected, float64(shape.K)) * rounds * 10000
	if math.Abs(found-want) > 4*math.Sqrt(want)+0.02*want {
		t.Errorf("%v keys found that were never added, expected %.0f", found, want)
	}
}

func TestSizeIsTheInverse(t *testing.T) {
	for _, tc := range []struct{ distinct, adds, fill float64 }{
		{1000, 1000, 0.5}, {1000, 2000, 0.5}, {1e6, 1.2e6, 0.4}, {50, 5000, 0.5}, {1e5, 1e5, 0.9},
	} {
		s := Shape{M: Size(tc.distinct, tc.adds, 5, tc.fill), K: 5}
		if got := expectedFill(s, tc.distinct, tc.adds); math.Abs(got-tc.fill) > 0.002 {
			t.Errorf("%+v: %d bits fill to %v", tc, s.M, got)
		}
	}
	if m := Size(1e6, 1e6, 5, 0.5); m < 7_213_000 || m > 7_214_000 {
		t.Errorf("%d bits for a million keys that never repeat, expected 5/ln 2 each", m)
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	h := filtertest.Hash(filtertest.Seeded(t, 6))
	f := newFilter(t, Shape{M: 1 << 20, K: 5, Walk: 64, MaxFill: 0.5})
	if n := testing.AllocsPerRun(100, func() { f.Add(h.Sequence(1 << 20)) }); n != 0 {
		t.Errorf("%v allocations an Add", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	shape := Shape{M: 1 << 26, K: 5, Walk: 64, MaxFill: 0.5}
	r := filtertest.Seeded(b, 7)
	keys := make([]filter.Hash, 1<<20)
	for i := range keys {
		keys[i] = filtertest.Hash(r)
	}
	for _, bm := range []struct {
		name string
		keys []filter.Hash
	}{{"new", keys}, {"walk64", keys[:1]}} {
		b.Run(bm.name, func(b *testing.B) {
			f := newFilter(b, shape)
			for i := 0; b.Loop(); i++ {
				if i%len(keys) == 0 {
					f.Reset()
				}
				f.Add(bm.keys[i%len(bm.keys)].Sequence(shape.M))
			}
		})
	}
}
