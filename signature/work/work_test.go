package work_test

import (
	"testing"

	"github.com/spambloom/spambloom/signature/work"
)

// The budget is 2^18 steps and 24 for each byte of the texts, some of which are added to
// each text. Steps of other stages are not taken from it.
func TestBudget(t *testing.T) {
	const free = 1 << 18
	for _, tt := range []struct {
		name  string
		bytes []int
		pages []int
		want  int
	}{
		{"no text", nil, nil, free},
		{"a text", []int{1000}, nil, free + 24*1004},
		{"two texts", []int{10, 20}, nil, free + 24*38},
		{"a page", nil, []int{1000}, free + 24*1060},
	} {
		var s work.Steps
		for _, n := range tt.bytes {
			s.Grant(n, false)
		}
		for _, n := range tt.pages {
			s.Grant(n, true)
		}
		s.Count(10 * tt.want)
		if s.Spend(tt.want); s.IsOver() {
			t.Errorf("%s: over after %d steps", tt.name, tt.want)
		}
		if s.Spend(1); !s.IsOver() {
			t.Errorf("%s: not over after %d steps", tt.name, tt.want+1)
		}
		if spent, granted := s.OfTexts(); spent != tt.want+1 || granted != tt.want-free || s.Total() != 11*tt.want+1 {
			t.Errorf("%s: spent %d, granted %d, in total %d", tt.name, spent, granted, s.Total())
		}
	}
}

func TestNoBudget(t *testing.T) {
	var s *work.Steps
	s.Count(1)
	s.Grant(1, true)
	if s.Spend(1 << 40); s.IsOver() {
		t.Error("over without a budget")
	}
}

func TestKeep(t *testing.T) {
	if got := work.Keep(make([]byte, 10, work.MaxKept)); len(got) != 0 || cap(got) != work.MaxKept {
		t.Errorf("length %d, capacity %d", len(got), cap(got))
	}
	if got := work.Keep(make([]byte, 10, work.MaxKept+1)); got != nil {
		t.Errorf("a buffer of %d bytes is kept", cap(got))
	}
}
