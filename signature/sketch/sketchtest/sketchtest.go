// Package sketchtest provides what tests of sketches share: a store of reports, random
// texts, and the check of an essence.
package sketchtest

import (
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/sketch"
)

// Store contains reported groups, as a filter without errors does.
type Store map[uint64]map[uint64]bool

// Report stores the first groups that a report of s offers, of a page all.
func (st Store) Report(s sketch.Sketch, keyed func(uint64) uint64) {
	groups := s.Reported(keyed)
	if s.Kind != digest.KindShape {
		groups = groups[:min(sketch.StoredAnchors, len(groups))]
	}
	for _, g := range groups {
		if st[g.Anchor] == nil {
			st[g.Anchor] = make(map[uint64]bool)
		}
		for _, k := range g.Keys {
			st[g.Anchor][k] = true
		}
	}
}

// Found returns the highest number of keys that a group of s has in common with a stored
// one, and whether some group has enough.
func (st Store) Found(s sketch.Sketch, keyed func(uint64) uint64) (best int, enough bool) {
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

// KeyedBy returns a keyed function for Sketch.Reported and Sketch.Asked.
func KeyedBy(key uint64) func(uint64) uint64 {
	return func(x uint64) uint64 { return digest.Mix(digest.Mix(x^key) + key) }
}

// Words is a text of different words.
type Words []sketch.Word

// RandomWords returns a text of n words.
func RandomWords(rng *rand.Rand, n int) Words {
	w := make(Words, n)
	for i := range w {
		w[i] = sketch.Word{Hash: rng.Uint64(), Measure: sketch.WordMeasure}
	}
	return w
}

// Sketch returns the sketch of the words.
func (w Words) Sketch() sketch.Sketch {
	at := slices.Clone(w)
	for i := range at {
		at[i].Pos = uint32(i)
	}
	return sketch.OfText(at, at)
}

// Matches reports whether other is found by a report of w.
func (w Words) Matches(other Words, keyed func(uint64) uint64) bool {
	st := make(Store)
	st.Report(w.Sketch(), keyed)
	_, enough := st.Found(other.Sketch(), keyed)
	return enough
}

const (
	storedKeys  = 20 // of a report
	mostOfText  = 32 // features of a text's essence under one key
	MostOfImage = 26
)

// CheckEssence checks that the essence under some keys reports what the whole sketch
// does.
func CheckEssence(t interface{ Fatalf(string, ...any) }, s sketch.Sketch, keys ...uint64) {
	var keyed []func(uint64) uint64
	for _, k := range keys {
		keyed = append(keyed, KeyedBy(k))
	}
	e := s.Essence(keyed...)
	most := mostOfText * len(keys)
	if s.Kind == digest.KindImage {
		most = MostOfImage
	}
	if n := len(e.Anchors) + len(e.Keys); n > most {
		t.Fatalf("essence of %d features under %d keys, at most %d", n, len(keys), most)
	}
	if e.AskOnly != s.AskOnly || e.Kind != s.Kind {
		t.Fatalf("essence is of kind %s, ask only %t; the whole %s, %t", e.Kind, e.AskOnly, s.Kind, s.AskOnly)
	}
	for _, askOnly := range []bool{s.AskOnly, false} {
		s.AskOnly, e.AskOnly = askOnly, askOnly
		for i, k := range keyed {
			if got, want := e.Reported(k), s.Reported(k); !reflect.DeepEqual(got, want) {
				t.Fatalf("key %d of %v: the essence of %d and %d features reports %v, the whole of %d and %d %v",
					i, keys, len(e.Anchors), len(e.Keys), got, len(s.Anchors), len(s.Keys), want)
			}
			if got, want := e.LeastKeys(storedKeys, k), s.LeastKeys(storedKeys, k); !slices.Equal(got, want) {
				t.Fatalf("key %d of %v: the essence has the smallest keys %x, the whole %x", i, keys, got, want)
			}
		}
	}
}
