package sketch_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/sketch"
	"github.com/spambloom/spambloom/signature/sketch/sketchtest"
)

// Texts of all lengths, with words that repeat, under one key or several.
func TestEssenceReportsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		rng := rand.New(rand.NewPCG(seed, 0))
		n := rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(30, 3000)).Draw(t, "words")
		text := sketchtest.RandomWords(rng, n)
		if of := rapid.SampledFrom([]int{0, 10, 20, 100}).Draw(t, "vocabulary"); of > 0 {
			for i := range text {
				text[i].Hash = rng.Uint64N(uint64(of))
			}
		}
		s := text.Sketch()
		s.AskOnly = rapid.Bool().Draw(t, "ask only")
		sketchtest.CheckEssence(t, s, rapid.SliceOfN(rapid.Uint64(), 1, 3).Draw(t, "keys")...)
	})
}

// The smallest keys are those of the text, whatever its level: a text twice as long that
// contains all of it shares about half of them.
func TestLeastKeysOfLongerText(t *testing.T) {
	const rounds = 200
	shared := 0
	for i := range rounds {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		text := sketchtest.RandomWords(rng, 150)
		longer := slices.Concat(text, sketchtest.RandomWords(rng, 150))
		keyed := sketchtest.KeyedBy(rng.Uint64())
		least := longer.Sketch().LeastKeys(12, keyed)
		for _, k := range text.Sketch().LeastKeys(12, keyed) {
			if slices.Contains(least, k) {
				shared++
			}
		}
	}
	if mean := float64(shared) / rounds; mean < 5.5 || mean > 6.5 {
		t.Errorf("%.2f of 12 keys shared, should be about 6", mean)
	}
}

// TestLeastKeysAreTheSmallest compares with sorting all keys, some of which occur twice.
func TestLeastKeysAreTheSmallest(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 2))
	keyed := sketchtest.KeyedBy(7)
	for _, size := range []int{12, 20, 100, 3000} {
		s := sketch.Sketch{Kind: digest.KindSketch}
		var all []uint64
		for i := range size {
			h := random.Uint64() >> random.IntN(30)
			all = append(all, keyed(h))
			s.Keys = append(s.Keys, sketch.Feature{Hash: h, Pos: uint32(i)}, sketch.Feature{Hash: h, Pos: uint32(size + i)})
		}
		slices.Sort(all)
		all = slices.Compact(all)
		for _, n := range []int{1, 12, 20, 128, size, 2 * size} {
			if got, want := s.LeastKeys(n, keyed), all[:min(n, len(all))]; !slices.Equal(got, want) {
				t.Errorf("%d of %d keys: %x, want %x", n, size, got, want)
			}
		}
	}
}
