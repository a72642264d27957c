package signature

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// stored answers like a filter without errors that holds groups.
type stored map[uint64]map[uint64]bool

func (st stored) report(s Sketch, keyed func(uint64) uint64) {
	groups := s.Reported(keyed)
	for _, g := range groups[:min(StoredAnchors, len(groups))] {
		if st[g.Anchor] == nil {
			st[g.Anchor] = make(map[uint64]bool)
		}
		for _, k := range g.Keys {
			st[g.Anchor][k] = true
		}
	}
}

// found is the most keys that one group of s has in common with a stored one, and
// whether some group has enough.
func (st stored) found(s Sketch, keyed func(uint64) uint64) (best int, enough bool) {
	for _, g := range s.Asked(keyed) {
		n := 0
		for _, k := range g.Keys {
			if st[g.Anchor][k] {
				n++
			}
		}
		best, enough = max(best, n), enough || n >= g.Need
	}
	return best, enough
}

func keyedBy(key uint64) func(uint64) uint64 {
	return func(x uint64) uint64 { return scramble(scramble(x^key) + key) }
}

// text of n different words, as a sketch has them.
type words []word

func randomWords(rng *rand.Rand, n int) words {
	w := make(words, n)
	for i := range w {
		w[i] = word{hash: rng.Uint64(), measure: wordMeasure}
	}
	return w
}

func (w words) sketch() Sketch {
	at := slices.Clone(w)
	for i := range at {
		at[i].pos = uint32(i)
	}
	return Sketch{Kind: KindSketch, Keys: shingles(at, keyMeasure), Anchors: shingles(at, anchorMeasure)}
}

func (w words) matches(other words, keyed func(uint64) uint64) bool {
	st := make(stored)
	st.report(w.sketch(), keyed)
	_, enough := st.found(other.sketch(), keyed)
	return enough
}

// matchProbability is the chance that a variation of a text matches which keeps
// each of its words with probability kept, one by one: a key survives where its
// three words do, an anchor where its two do, and the 20 keys and 3 anchors are
// few of many, so that they survive nearly independently.
func matchProbability(kept float64) float64 {
	key, anchor := math.Pow(kept, 3), math.Pow(kept, 2)
	enough := 0.0
	for n := need; n <= storedKeys; n++ {
		enough += binomial(storedKeys, n) * math.Pow(key, float64(n)) * math.Pow(1-key, float64(storedKeys-n))
	}
	return enough * (1 - math.Pow(1-anchor, StoredAnchors))
}

func binomial(n, k int) float64 {
	b := 1.0
	for i := range k {
		b = b * float64(n-i) / float64(i+1)
	}
	return b
}

func TestMatchProbabilityAgreesWithSimulation(t *testing.T) {
	t.Parallel()
	const rounds = 400
	for i, kept := range []float64{1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5} {
		for _, length := range []int{150, 1000} {
			if length == 1000 && (i+4)%scale != 0 {
				continue // where all is dear, one such text, where the chance is neither sure nor small
			}
			rng := rand.New(rand.NewPCG(uint64(length), math.Float64bits(kept)))
			matched := 0
			for range rounds {
				original := randomWords(rng, length)
				varied := slices.Clone(original)
				for i := range varied {
					if rng.Float64() >= kept {
						varied[i].hash = rng.Uint64()
					}
				}
				if original.matches(varied, keyedBy(rng.Uint64())) {
					matched++
				}
			}
			got, want := float64(matched)/rounds, matchProbability(kept)
			t.Logf("words kept %.2f of %d: matched %.3f, expected %.3f", kept, length, got, want)
			// A text's words vary together: three keys share each of them. That
			// widens the spread of the keys found, by what the shorter text shows.
			if tolerance := 0.06; math.Abs(got-want) > tolerance {
				t.Errorf("words kept %.2f of %d: matched %.3f, expected %.3f", kept, length, got, want)
			}
		}
	}
}

func TestTextAroundDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(fewestKeys+2, 2000).Draw(t, "words")
		original := randomWords(rng, n)
		before := rapid.IntRange(0, 3*n).Draw(t, "before")
		after := rapid.IntRange(0, 3*n).Draw(t, "after")
		padded := slices.Concat(randomWords(rng, before), original, randomWords(rng, after))
		if !original.matches(padded, keyedBy(rng.Uint64())) {
			t.Fatalf("a text of %d words does not match inside one of %d", n, len(padded))
		}
	})
}

// A few lines beside a file are a cover note that anybody writes: they are not
// reported, but asked for, so that a spam's copy with a file added is known.
func TestShortTextBesideAFileIsOnlyAsked(t *testing.T) {
	const text = "Your parcel could not be brought to you on Monday because nobody opened our driver the door." +
		" Please choose another day on the page below and pay the small customs duty there in advance."
	file := bytes.Repeat([]byte("%PDF-1.4 some file of its own\n"), 100)
	alone := Compute(Parse([]byte("Subject: a\n\n" + text)))
	beside := Compute(Parse([]byte("Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + text +
		"\n--b\nContent-Type: application/pdf\nContent-Disposition: attachment\n\n" + string(file) + "\n--b--\n")))
	if len(alone.Sketches) != 1 || len(beside.Sketches) != 1 {
		t.Fatalf("%d and %d sketches, want one each", len(alone.Sketches), len(beside.Sketches))
	}
	keyed := keyedBy(1)
	if groups := beside.Sketches[0].Reported(keyed); len(groups) > 0 {
		t.Errorf("beside a file, %d groups are reported", len(groups))
	}
	st := make(stored)
	st.report(alone.Sketches[0], keyed)
	if _, ok := st.found(beside.Sketches[0], keyed); !ok {
		t.Error("the text does not match its copy beside a file")
	}
}
