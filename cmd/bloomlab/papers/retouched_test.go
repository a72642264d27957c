package papers

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func vector(t rapid.TB, m uint64, live bool, keys [][]uint64) *CountingVector {
	v, err := NewCountingVector(m, live)
	testenv.Check(t, err)
	for _, key := range keys {
		testenv.Check(t, v.Add(key))
	}
	return v
}

// retouchModel keeps plain sets of bits and counts keys anew for each question.
type retouchModel struct {
	bits    map[uint64]bool
	cleared map[uint64]bool
	a, b    [][]uint64
	live    bool
}

func (m *retouchModel) has(key []uint64) bool {
	for _, pos := range key {
		if !m.bits[pos] {
			return false
		}
	}
	return true
}

func (m *retouchModel) count(keys [][]uint64, pos uint64) float64 {
	if m.cleared[pos] {
		return 0
	}
	n := 0.0
	for _, key := range keys {
		if slices.Contains(key, pos) && (!m.live || !slices.ContainsFunc(key, func(p uint64) bool { return m.cleared[p] })) {
			n++
		}
	}
	return n
}

// cost is what the selection wants to be least.
func (m *retouchModel) cost(s Selection, pos uint64) float64 {
	a, b := m.count(m.a, pos), m.count(m.b, pos)
	switch s {
	case MinimumFN:
		return a
	case MaximumFP:
		return -b
	case RatioSelection:
		if b == 0 {
			return math.Inf(1)
		}
		return a / b
	}
	return 0
}

// Each selection clears the bit that a model chooses that has all keys; what is
// found then is what the remaining bits say; s counts the cleared bits.
func TestRetouchedModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.Uint64Range(1, 60).Draw(t, "m")
		k := rapid.IntRange(1, 5).Draw(t, "k")
		key := rapid.SliceOfN(rapid.Uint64Range(0, m-1), k, k)
		keys := rapid.SliceOfN(key, 0, 25)
		model := retouchModel{
			bits: make(map[uint64]bool), cleared: make(map[uint64]bool),
			a: keys.Draw(t, "A"), b: keys.Draw(t, "B"), live: rapid.Bool().Draw(t, "live"),
		}
		bloom, err := NewClassic(m, k)
		testenv.Check(t, err)
		for _, a := range append(slices.Clone(model.a), keys.Draw(t, "members that v_A does not know")...) {
			bloom.Set(a)
			for _, pos := range a {
				model.bits[pos] = true
			}
		}
		how := Retouching{
			Selection: Selection(rapid.IntRange(0, 3).Draw(t, "selection")),
			A:         vector(t, m, model.live, model.a), B: vector(t, m, model.live, model.b).Clone(),
			Random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
		}
		r, err := NewRetouched(bloom, how)
		testenv.Check(t, err)
		for _, b := range append(slices.Clone(model.b), keys.Draw(t, "others to clear")...) {
			found := model.has(b)
			pos, cleared := r.Clear(b)
			if cleared != found {
				t.Fatalf("key %v: cleared %v, the model finds it: %v", b, cleared, found)
			}
			if !cleared {
				continue
			}
			if !slices.Contains(b, pos) {
				t.Fatalf("key %v: cleared bit %d", b, pos)
			}
			best := slices.MinFunc(b, func(x, y uint64) int {
				return cmp.Compare(model.cost(how.Selection, x), model.cost(how.Selection, y))
			})
			if got, want := model.cost(how.Selection, pos), model.cost(how.Selection, best); got != want {
				t.Fatalf("%v: key %v: bit %d costs %v, bit %d only %v", how.Selection, b, pos, got, best, want)
			}
			delete(model.bits, pos)
			model.cleared[pos] = true
			if r.Has(b) {
				t.Fatalf("key %v is still there", b)
			}
		}
		if r.Cleared() != len(model.cleared) {
			t.Fatalf("s is %d, the model cleared %d bits", r.Cleared(), len(model.cleared))
		}
		for pos := range m {
			if r.bits.Bit(pos) != model.bits[pos] {
				t.Fatalf("bit %d is %v", pos, r.bits.Bit(pos))
			}
			if a := model.count(model.a, pos); r.a != nil && float64(r.a.At(pos)) != a {
				t.Fatalf("v_A of bit %d is %d, model %v", pos, r.a.At(pos), a)
			}
			if b := model.count(model.b, pos); r.b != nil && float64(r.b.At(pos)) != b {
				t.Fatalf("v_B of bit %d is %d, model %v", pos, r.b.At(pos), b)
			}
		}
		for _, asked := range keys.Draw(t, "asked") {
			if r.Has(asked) != model.has(asked) {
				t.Fatalf("key %v: %v", asked, r.Has(asked))
			}
		}
	})
}

// One key has bits 1 to 4, whose (v_A, v_B) are (3,4), (1,1), (2,3), (4,9).
func TestRetouchedSelections(t *testing.T) {
	const m = 10
	counted := func(counts ...int) (keys [][]uint64) {
		for pos, n := range counts {
			for range n {
				keys = append(keys, []uint64{uint64(pos + 1)})
			}
		}
		return keys
	}
	for _, c := range []struct {
		selection Selection
		want      uint64
	}{
		{MinimumFN, 2},
		{MaximumFP, 4},
		{RatioSelection, 4}, // 0.75, 1, 0.667, 0.444
	} {
		bloom := mustClassic(t, m, 4)
		key := []uint64{1, 2, 3, 4}
		bloom.Set(key)
		r, err := NewRetouched(bloom, Retouching{
			Selection: c.selection,
			A:         vector(t, m, false, counted(3, 1, 2, 4)),
			B:         vector(t, m, false, counted(4, 1, 3, 9)),
		})
		testenv.Check(t, err)
		if got, _ := r.Clear(key); got != c.want {
			t.Errorf("%v clears bit %d, want %d", c.selection, got, c.want)
		}
	}
}

// Random selection takes each position as often as it stands in the key: of four
// bits a fourth of the time each, within four deviations.
func TestRetouchedRandomIsUniform(t *testing.T) {
	const rounds = 4000
	r := seeded(t, 5)
	times := make(map[uint64]int)
	for range rounds {
		bloom := mustClassic(t, 10, 4)
		key := []uint64{1, 5, 7, 9}
		bloom.Set(key)
		f, err := NewRetouched(bloom, Retouching{Random: r})
		testenv.Check(t, err)
		pos, _ := f.Clear(key)
		times[pos]++
	}
	deviation := math.Sqrt(rounds * 0.25 * 0.75)
	for _, pos := range []uint64{1, 5, 7, 9} {
		if math.Abs(float64(times[pos])-rounds/4) > 4*deviation {
			t.Errorf("bit %d was cleared %d times in %d", pos, times[pos], rounds)
		}
	}
}

func TestRetouchedRefuses(t *testing.T) {
	v := vector(t, 10, false, nil)
	for _, c := range []struct {
		how  Retouching
		want string
	}{
		{Retouching{Selection: 4}, "selection 4 is unknown"},
		{Retouching{Selection: -1}, "selection -1 is unknown"},
		{Retouching{}, "without a random stream"},
		{Retouching{Selection: MinimumFN}, "v_A: no counting vector"},
		{Retouching{Selection: MaximumFP, A: v}, "v_B: no counting vector"},
		{Retouching{Selection: RatioSelection, B: v}, "v_A: no counting vector"},
		{Retouching{Selection: RatioSelection, A: v, B: vector(t, 11, true, nil)}, "v_B: counting vector of m=11 for a filter of m=10"},
	} {
		if _, err := NewRetouched(mustClassic(t, 10, 2), c.how); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.how, err, c.want)
		}
	}
	for _, m := range []uint64{0, maxCounting + 1, math.MaxUint64} {
		if _, err := NewCountingVector(m, true); err == nil {
			t.Errorf("a counting vector of m=%d was made", m)
		}
	}
}

func TestRetouchEffect(t *testing.T) {
	e := RetouchEffect{FalsePositives: 200, Remaining: 50, Members: 1000, Lost: 300}
	if e.DeltaFP() != 0.75 || e.DeltaFN() != 0.3 || e.Chi() != 2.5 {
		t.Errorf("%v: %v, %v, %v", e, e.DeltaFP(), e.DeltaFN(), e.Chi())
	}
	// One of 4 ones is cleared; a key of two bits is lost with 1-(3/4)^2.
	if got := RandomizedClearing(1, 4, 2); got != 0.4375 {
		t.Errorf("randomized clearing: %v", got)
	}
}
