package trust

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestWeight(t *testing.T) {
	large := Model{Quorum: 2, Newcomer: 0.5, Floor: 0.05, Ceiling: 1, HalfLife: 30 * 24 * time.Hour}
	tests := []struct {
		name               string
		model              Model
		confirmed, refuted float64
		want               float64
	}{
		{"a newcomer of a small site counts at once", Default(), 0, 0, 1},
		{"one mistake changes nothing", Default(), 0, Refutation, 1},
		{"two do", Default(), 0, 2 * Refutation, 0},
		{"half way, as one of two has faded", Default(), 0, 3, 3. / 7},
		{"two mistakes of who was often right", Default(), 2, 2 * Refutation, 1},
		{"nobody is worth more than the ceiling", Default(), 1000, 0, 1},
		{"a liar is worth the floor", large, 0, 1000, 0.05},
		{"a newcomer of a large site", large, 0, 0, 0.5},
		{"four confirmations", large, 4, 0, 0.75},
		{"many of them", large, 1e9, 0, 1},
		{"as many right as wrong", large, 50, 50, 0.5},
	}
	for _, test := range tests {
		got := test.model.Weight(Reputation{test.confirmed, test.refuted, now}, now)
		if math.Abs(got-test.want) > 1e-6 {
			t.Errorf("%s: weight %v, want %v", test.name, got, test.want)
		}
	}
}

func TestNothingBelowNothing(t *testing.T) {
	if r := Default().Add(Reputation{Confirmed: 0.25, At: now}, -1, 0, now); r.Confirmed != 0 {
		t.Errorf("what is taken back leaves %v", r.Confirmed)
	}
}

func TestFading(t *testing.T) {
	m := Default()
	r := m.Add(Reputation{}, 0, 8, now)
	later := m.At(r, now.Add(2*m.HalfLife))
	if math.Abs(later.Refuted-2) > 1e-9 {
		t.Errorf("after two half-lives 8 are %v, want 2", later.Refuted)
	}
	if before := m.At(r, now.Add(-time.Hour)); before != r {
		t.Errorf("a clock that goes back changes the reputation: %v", before)
	}
	if w := m.Weight(r, now.Add(20*m.HalfLife)); w != 1 {
		t.Errorf("a mistake is not forgotten: weight %v", w)
	}
}

// TestWeightIsMonotone: no confirmation lowers a weight, no refutation raises one, and
// none leaves the bounds.
func TestWeightIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		newcomer := rapid.Float64Range(0.01, 3).Draw(t, "newcomer")
		m := Model{
			Quorum: 1, Newcomer: newcomer,
			Floor:    rapid.Float64Range(0, newcomer).Draw(t, "floor"),
			Ceiling:  rapid.Float64Range(newcomer, 10).Draw(t, "ceiling"),
			HalfLife: time.Hour,
		}
		testenv.Check(t, m.Check())
		r := Reputation{rapid.Float64Range(0, 1e6).Draw(t, "r"), rapid.Float64Range(0, 1e6).Draw(t, "s"), now}
		w := m.Weight(r, now)
		const slack = 1e-9
		if w < m.Floor-slack || w > m.Ceiling+slack {
			t.Fatalf("weight %v is not within %v and %v", w, m.Floor, m.Ceiling)
		}
		more := rapid.Float64Range(0, 100).Draw(t, "more")
		if up := m.Weight(m.Add(r, more, 0, now), now); up < w-slack {
			t.Fatalf("confirmed by %v: %v falls to %v", more, w, up)
		}
		if down := m.Weight(m.Add(r, 0, more, now), now); down > w+slack {
			t.Fatalf("refuted by %v: %v rises to %v", more, w, down)
		}
	})
}

func TestCheck(t *testing.T) {
	if err := Default().Check(); err != nil {
		t.Error(err)
	}
	for name, edit := range map[string]func(*Model){
		"no quorum":             func(m *Model) { m.Quorum = 0 },
		"not a number":          func(m *Model) { m.Newcomer = math.NaN() },
		"floor over newcomer":   func(m *Model) { m.Floor = 2 },
		"newcomer over ceiling": func(m *Model) { m.Newcomer = 2 },
		"no half-life":          func(m *Model) { m.HalfLife = 0 },
		"negative":              func(m *Model) { m.Floor = -1 },
	} {
		m := Default()
		edit(&m)
		if m.Check() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
