package signature

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const (
	mostOfText  = 32 // features of a text's essence under one key
	mostOfImage = 26
)

// checkEssence holds that the essence under some keys reports what the whole does.
func checkEssence(t interface{ Fatalf(string, ...any) }, s Sketch, keys ...uint64) {
	var keyed []func(uint64) uint64
	for _, k := range keys {
		keyed = append(keyed, keyedBy(k))
	}
	e := s.Essence(keyed...)
	most := mostOfText * len(keys)
	if s.Kind == KindImage {
		most = mostOfImage
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

// Of all lengths, with words that repeat, and under one key or several.
func TestEssenceReportsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		rng := rand.New(rand.NewPCG(seed, 0))
		n := rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(30, 3000)).Draw(t, "words")
		text := randomWords(rng, n)
		if of := rapid.SampledFrom([]int{0, 10, 20, 100}).Draw(t, "vocabulary"); of > 0 {
			for i := range text {
				text[i].hash = rng.Uint64N(uint64(of))
			}
		}
		s := text.sketch()
		s.AskOnly = rapid.Bool().Draw(t, "ask only")
		checkEssence(t, s, rapid.SliceOfN(rapid.Uint64(), 1, 3).Draw(t, "keys")...)
	})
}

func TestEssenceOfImageReportsTheSame(t *testing.T) {
	sketches := imagesOf(vectorSet(t, "70"))
	if len(sketches) != 1 {
		t.Fatalf("%d sketches", len(sketches))
	}
	checkEssence(t, sketches[0], 1)
	checkEssence(t, sketches[0], 1, 2)
	if e := sketches[0].Essence(keyedBy(1)); len(e.Anchors)+len(e.Keys) != mostOfImage {
		t.Errorf("%d anchors and %d keys", len(e.Anchors), len(e.Keys))
	}
	crafted := Sketch{Kind: KindImage, Anchors: make([]Feature, 1000), Keys: make([]Feature, 1000)}
	if e := crafted.Essence(); len(e.Anchors)+len(e.Keys) > mostOfImage {
		t.Errorf("crafted: %d anchors and %d keys", len(e.Anchors), len(e.Keys))
	}
}

func TestEssenceOfRealMailReportsTheSame(t *testing.T) {
	texts, images := 0, 0
	for i, m := range corpus(t) {
		if i%(5*scale) != 0 {
			continue
		}
		for _, s := range Compute(Parse(m.raw)).Sketches {
			checkEssence(t, s, 1, 2)
			if s.Kind == KindImage {
				images++
			} else {
				texts++
			}
		}
	}
	t.Logf("%d sketches of texts, %d of images", texts, images)
	if texts < 50 {
		t.Errorf("only %d sketches of texts", texts)
	}
}

// The smallest keys are those of the text, at whatever level: a text twice as long
// that has all of it in it shares about half of them.
func TestLeastKeysOfLongerText(t *testing.T) {
	const rounds = 200
	shared := 0
	for i := range rounds {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		text := randomWords(rng, 150)
		longer := slices.Concat(text, randomWords(rng, 150))
		keyed := keyedBy(rng.Uint64())
		least := longer.sketch().LeastKeys(12, keyed)
		for _, k := range text.sketch().LeastKeys(12, keyed) {
			if slices.Contains(least, k) {
				shared++
			}
		}
	}
	if mean := float64(shared) / rounds; mean < 5.5 || mean > 6.5 {
		t.Errorf("%.2f of 12 keys shared, should be about 6", mean)
	}
}
