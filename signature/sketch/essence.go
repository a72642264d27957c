package sketch

import (
	"slices"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/picture"
)

// Essence returns the sketch cut down to the features that Reported uses under any of the
// given functions. Under each of them, the essence has the same reported groups as the
// whole, whether AskOnly is set or not. It has no other features, so it is not fit to be
// asked.
//
// A feature has 12 bytes. The essence of a text has at most 32 of them for each function:
// 20 keys and 12 anchors, 384 bytes. The essence of an image has at most 26, 312 bytes,
// for any number of functions. Further features in a sketch of an image are cut off: no
// image has them.
func (s Sketch) Essence(keyed ...func(uint64) uint64) Sketch {
	e := Sketch{Kind: s.Kind, AskOnly: s.AskOnly}
	if s.Kind == digest.KindShape {
		return s.shapeEssence(keyed)
	}
	if s.Kind == digest.KindImage {
		e.Anchors = firstView(s.Anchors, len(picture.Code{}.Anchors))
		e.Keys = firstView(s.Keys, len(picture.Code{}.Keys))
		return e
	}
	anchors, keys := make([]bool, len(s.Anchors)), make([]bool, len(s.Keys))
	for _, k := range keyed {
		places := placesOf(s.Keys, k)
		level, ok := levelOf(places)
		if !ok {
			continue
		}
		mark(keys, places, smallest(places, level, storedKeys))
		places = placesOf(s.Anchors, k)
		mark(anchors, places, smallest(places, level+1, candidates))
	}
	e.Anchors, e.Keys = featuresOf(s.Anchors, anchors), featuresOf(s.Keys, keys)
	return e
}

// firstView returns the first n features of an image's first view.
func firstView(features []Feature, n int) []Feature {
	var of []Feature
	for _, f := range features {
		if f.Pos == 0 && len(of) < n {
			of = append(of, f)
		}
	}
	return of
}

// mark sets marks for the chosen places, each where it occurs first.
func mark(marks []bool, places, chosen []place) {
	for i, p := range places {
		if p.since == never && slices.ContainsFunc(chosen, func(c place) bool { return c.hash == p.hash }) {
			marks[i] = true
		}
	}
}

func featuresOf(features []Feature, marks []bool) []Feature {
	var of []Feature
	for i, f := range features {
		if marks[i] {
			of = append(of, f)
		}
	}
	return of
}

// LeastKeys returns the n smallest different keys of a text, keyed, ascending. There are
// none if the text has too few for a sketch, or the sketch is of an image. AskOnly does
// not matter. The essence has the same 20 smallest keys as the whole.
func (s Sketch) LeastKeys(n int, keyed func(uint64) uint64) []uint64 {
	if s.Kind != digest.KindSketch {
		return nil
	}
	least := leastOf(s.Keys, max(n, fewestKeys), keyed)
	if len(least) < fewestKeys {
		return nil
	}
	return least[:min(n, len(least))]
}

// leastOf returns the n smallest different hashes of features, keyed, ascending. Nearly all features
// cost one hash and one comparison: of m, about n*log(m/n) are inserted.
func leastOf(features []Feature, n int, keyed func(uint64) uint64) (least []uint64) {
	least = make([]uint64, 0, min(n, len(features)))
	for _, f := range features {
		h := keyed(f.Hash)
		if len(least) == n && h >= least[n-1] {
			continue
		}
		i, found := slices.BinarySearch(least, h)
		if found {
			continue
		}
		if len(least) == n {
			least = least[:n-1]
		}
		least = slices.Insert(least, i, h)
	}
	return least
}
