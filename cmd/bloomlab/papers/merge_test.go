package papers

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// Whatever states arrive, in any order and as often as they like, the joined
// site is its newest state, and the count over the sites is never too low.
func TestJoinModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const m, k = 30, 3
		extension := rapid.SampledFrom([]Extension{Intuitive, Refined}).Draw(t, "extension")
		newState := func() *Counting {
			c, err := NewCounting(extension, k, mustFlat(t, m, 32))
			testenv.Check(t, err)
			return c
		}
		keys := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64Range(0, m-1), k, k), 1, 6).Draw(t, "keys")
		truth := make([]uint64, len(keys))
		joined := make([]*Counting, 2)
		for s := range joined {
			site := newState()
			joined[s] = newState()
			var states []*Counting
			for range rapid.IntRange(1, 6).Draw(t, "states") {
				for range rapid.IntRange(0, 5).Draw(t, "insertions") {
					i := rapid.IntRange(0, len(keys)-1).Draw(t, "key")
					site.Add(keys[i], 1)
					truth[i]++
				}
				state := newState()
				testenv.Check(t, state.Sum(site))
				states = append(states, state)
			}
			order := append(rapid.Permutation(states).Draw(t, "order"), states[rapid.IntRange(0, len(states)-1).Draw(t, "again")])
			for _, state := range order {
				testenv.Check(t, joined[s].Join(state))
			}
			for pos := range uint64(m) {
				if got, want := joined[s].Cells().Cell(pos), site.Cells().Cell(pos); got != want {
					t.Fatalf("site %d, cell %d: %d, want %d", s, pos, got, want)
				}
			}
		}
		for i, positions := range keys {
			if got := CountSites(joined, positions); got < truth[i] {
				t.Fatalf("key %v counts %d, inserted %d times", positions, got, truth[i])
			}
		}
	})
}

func TestMergeRefuses(t *testing.T) {
	c := mustCounting(t, Refined, 4, mustFlat(t, 100, 5))
	into := mustCounting(t, Refined, 4, mustFlat(t, 100, 5))
	for want, other := range map[string]*Counting{
		"intuitive, m=100 k=4 max=31": mustCounting(t, Intuitive, 4, mustFlat(t, 100, 5)),
		"refined, m=101 k=4 max=31":   mustCounting(t, Refined, 4, mustFlat(t, 101, 5)),
		"refined, m=100 k=5 max=31":   mustCounting(t, Refined, 5, mustFlat(t, 100, 5)),
		"refined, m=100 k=4 max=63":   mustCounting(t, Refined, 4, mustFlat(t, 100, 6)),
	} {
		for name, err := range map[string]error{
			"sum": c.Sum(other), "join": c.Join(other), "delta": c.Delta(other, into), "delta into": c.Delta(into, other),
		} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "refined, m=100 k=4 max=31") {
				t.Errorf("%s: %v, want both sides, %q", name, err, want)
			}
		}
	}
	earlier := mustCounting(t, Refined, 4, mustFlat(t, 100, 5))
	earlier.Cells().SetCell(3, 9)
	if err := c.Delta(earlier, into); err == nil || !strings.Contains(err.Error(), "cell 3, which was 9 and is 0") {
		t.Errorf("a cell that fell: %v", err)
	}
}

// A flat and a split store of equal limits can be merged.
func TestMergeAcrossStores(t *testing.T) {
	split, err := NewSplit(SplitShape{Cells: 100, Bits: 2, Chunks: 1, Limit: 31})
	testenv.Check(t, err)
	a, b := mustCounting(t, Refined, 1, mustFlat(t, 100, 5)), mustCounting(t, Refined, 1, split)
	a.Add([]uint64{1}, 20)
	b.Add([]uint64{1}, 20)
	b.Add([]uint64{2}, 9)
	if err := a.Sum(b); err != nil || a.Count([]uint64{1}) != 31 || a.Count([]uint64{2}) != 9 {
		t.Errorf("%v: %d and %d", err, a.Count([]uint64{1}), a.Count([]uint64{2}))
	}
}
