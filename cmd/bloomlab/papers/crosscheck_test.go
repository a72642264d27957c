package papers

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func mustCross(t rapid.TB, main *Classic, classes ...*Classic) *CrossCheck {
	t.Helper()
	c, err := NewCrossCheck(main, classes...)
	testenv.Check(t, err)
	return c
}

// A query gives the classes whose filter, a plain set of bits in the model, has
// all the key's bits, if the main one has them too; a key that was added is found
// with its class.
func TestCrossCheckModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "classes")
		filters := make([]*Classic, n+1) // the last is the main one
		model := make([]map[uint64]bool, n+1)
		var err error
		for i := range filters {
			filters[i], err = NewClassic(rapid.Uint64Range(1, 120).Draw(t, "m"), rapid.IntRange(1, 4).Draw(t, "k"))
			testenv.Check(t, err)
			model[i] = make(map[uint64]bool)
		}
		cross, err := NewCrossCheck(filters[n], filters[:n]...)
		testenv.Check(t, err)
		key := func(label string) (positions [][]uint64) {
			for _, f := range filters {
				positions = append(positions, rapid.SliceOfN(rapid.Uint64Range(0, f.Size()-1), f.K(), f.K()).Draw(t, label))
			}
			return positions
		}
		query := func(key [][]uint64) uint64 {
			return cross.Query(key[n], func(class int) []uint64 { return key[class] })
		}
		has := func(filter int, key [][]uint64) bool {
			return !slices.ContainsFunc(key[filter], func(pos uint64) bool { return !model[filter][pos] })
		}
		for range rapid.IntRange(0, 15).Draw(t, "keys") {
			x, class := key("key"), rapid.IntRange(0, n-1).Draw(t, "class")
			for _, filter := range []int{class, n} {
				filters[filter].Set(x[filter])
				for _, pos := range x[filter] {
					model[filter][pos] = true
				}
			}
			if query(x)>>class&1 == 0 {
				t.Fatalf("a key of class %d has classes %b", class, query(x))
			}
		}
		for range 20 {
			x := key("asked")
			want := uint64(0)
			for class := range n {
				if has(n, x) && has(class, x) {
					want |= 1 << class
				}
			}
			if got := query(x); got != want {
				t.Fatalf("key %v: classes %b, model %b", x, got, want)
			}
		}
	})
}

func draw(r *rand.Rand, f *Classic) []uint64 {
	positions := make([]uint64, f.K())
	for i := range positions {
		positions[i] = r.Uint64N(f.Size())
	}
	return positions
}

// The positives among 200,000 keys that were never added are as many as Eq. 31
// says for the actual bits, within four deviations, with one class (the
// dual filter) and with three; and never more than the main filter's own.
func TestCrossCheckErrorIsMeasured(t *testing.T) {
	const queries = 200_000
	r := seeded(t, 8)
	for _, classes := range []int{1, 3} {
		main := mustClassic(t, 4000, 3)
		parts := make([]*Classic, classes)
		for i := range parts {
			parts[i] = mustClassic(t, 4000/uint64(classes), 3)
		}
		cross := mustCross(t, main, parts...)
		for i := range 1000 {
			class := i % classes
			main.Set(draw(r, main))
			parts[class].Set(draw(r, parts[class]))
		}
		positives := 0
		for range queries {
			if cross.Query(draw(r, main), func(i int) []uint64 { return draw(r, parts[i]) }) != 0 {
				positives++
			}
		}
		rates := make([]float64, classes)
		for i, part := range parts {
			rates[i] = part.Error()
		}
		want := CrossCheckError(main.Error(), rates...) * queries
		if math.Abs(float64(positives)-want) > 4*math.Sqrt(want) {
			t.Errorf("%d classes: %d positives, Eq. 31 says %.0f", classes, positives, want)
		}
	}
}

// With the main filter's own positions a second filter of the same size says
// nothing new: every false positive stays.
func TestCrossCheckNeedsOtherPositions(t *testing.T) {
	r := seeded(t, 9)
	first, second := mustClassic(t, 2000, 3), mustClassic(t, 2000, 3)
	dual := mustCross(t, first, second)
	for range 500 {
		x := draw(r, first)
		first.Set(x)
		second.Set(x)
	}
	positives := 0
	for range 5000 {
		x := draw(r, first)
		found := dual.Query(x, func(int) []uint64 { return x }) == 1
		if found != first.Has(x) {
			t.Fatalf("key %v: main filter %v, both %v", x, first.Has(x), found)
		}
		if found {
			positives++
		}
	}
	if positives == 0 {
		t.Error("no false positive was met")
	}
}

func TestCrossCheckRefuses(t *testing.T) {
	f := mustClassic(t, 10, 1)
	for _, c := range []struct {
		main    *Classic
		classes []*Classic
		want    string
	}{
		{nil, []*Classic{f}, "no main filter"},
		{f, nil, "0 classes, must be 1 to 64"},
		{f, slices.Repeat([]*Classic{f}, 65), "65 classes, must be 1 to 64"},
		{f, []*Classic{f, nil}, "class 1 has no filter"},
	} {
		if _, err := NewCrossCheck(c.main, c.classes...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	if c := mustCross(t, f, slices.Repeat([]*Classic{f}, 64)...); c.Class(63) != f {
		t.Error("class 63 has another filter")
	}
}

func TestCrossCheckError(t *testing.T) {
	for _, c := range []struct {
		classes []float64
		want    float64
	}{
		{[]float64{0.2}, 0.1},
		{[]float64{0.2, 0.1}, 0.5 * (0.2 + 0.1 - 0.02)}, // Eq. 31
		{[]float64{0.5, 0.5, 0.5, 0.5}, 0.5 * 0.9375},
		{[]float64{1, 0.3}, 0.5},
		{[]float64{1e-20, 1e-20}, 1e-20},
	} {
		if got := CrossCheckError(0.5, c.classes...); math.Abs(got-c.want) > 1e-12*c.want {
			t.Errorf("classes %v: %v, want %v", c.classes, got, c.want)
		}
	}
}
