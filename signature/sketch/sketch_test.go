package sketch_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature/sketch"
	"github.com/spambloom/spambloom/signature/sketch/sketchtest"
)

// The figures of FORMAT.md for a report and a match.
const (
	storedKeys = 20
	fewestKeys = 12
	need       = 8
)

// matchProbability returns the probability that a variation of a text matches if it keeps
// each word with probability kept. A key survives if its three words do, an anchor if its
// two do. The 20 keys and 3 anchors are few of many, so they survive nearly
// independently.
func matchProbability(kept float64) float64 {
	key, anchor := math.Pow(kept, 3), math.Pow(kept, 2)
	enough := 0.0
	for n := need; n <= storedKeys; n++ {
		enough += binomial(storedKeys, n) * math.Pow(key, float64(n)) * math.Pow(1-key, float64(storedKeys-n))
	}
	return enough * (1 - math.Pow(1-anchor, sketch.StoredAnchors))
}

func binomial(n, k int) float64 {
	b := 1.0
	for i := range k {
		b = b * float64(n-i) / float64(i+1)
	}
	return b
}

func TestMatchProbabilityAgreesWithSimulation(t *testing.T) {
	testenv.Servers(t)
	t.Parallel()
	const rounds = 400
	for i, kept := range []float64{1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5} {
		for _, length := range []int{150, 1000} {
			if length == 1000 && (i+4)%scale != 0 {
				continue // with the race detector, only one such text, whose probability is neither near 0 nor near 1
			}
			rng := rand.New(rand.NewPCG(uint64(length), math.Float64bits(kept)))
			matched := 0
			for range rounds {
				original := sketchtest.RandomWords(rng, length)
				varied := slices.Clone(original)
				for i := range varied {
					if rng.Float64() >= kept {
						varied[i].Hash = rng.Uint64()
					}
				}
				if original.Matches(varied, sketchtest.KeyedBy(rng.Uint64())) {
					matched++
				}
			}
			got, want := float64(matched)/rounds, matchProbability(kept)
			t.Logf("words kept %.2f of %d: matched %.3f, expected %.3f", kept, length, got, want)
			// A text's words vary together: three keys share each of them. That widens
			// the spread of the keys found, by the amount that the shorter text shows.
			if tolerance := 0.06; math.Abs(got-want) > tolerance {
				t.Errorf("words kept %.2f of %d: matched %.3f, expected %.3f", kept, length, got, want)
			}
		}
	}
}

// A text matches inside a longer one, unless it has no anchor under the key.
func TestTextAroundDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(fewestKeys+2, 2000).Draw(t, "words")
		original := sketchtest.RandomWords(rng, n)
		before := rapid.IntRange(0, 3*n).Draw(t, "before")
		after := rapid.IntRange(0, 3*n).Draw(t, "after")
		padded := slices.Concat(sketchtest.RandomWords(rng, before), original, sketchtest.RandomWords(rng, after))
		keyed := sketchtest.KeyedBy(rng.Uint64())
		if matches := original.Matches(padded, keyed); matches != hasAnchor(original.Sketch(), keyed) {
			t.Fatalf("a text of %d words matches inside one of %d: %t", n, len(padded), matches)
		}
	})
}

// hasAnchor reports whether an anchor of a text begins with more zero bits than the 20 keys that
// begin with the most.
func hasAnchor(s sketch.Sketch, keyed func(uint64) uint64) bool {
	var zeros []int
	for _, k := range s.Keys {
		zeros = append(zeros, bits.LeadingZeros64(keyed(k.Hash)))
	}
	level := 0
	if slices.Sort(zeros); len(zeros) >= storedKeys {
		level = zeros[len(zeros)-storedKeys]
	}
	return slices.ContainsFunc(s.Anchors, func(a sketch.Feature) bool { return bits.LeadingZeros64(keyed(a.Hash)) > level })
}
