package sketch

import (
	"slices"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/picture"
)

// Essence is the sketch cut down to the features that Reported uses under any of
// the given functions: under each of them, the essence has the same reported groups as
// the whole, whether it is AskOnly or is taken not to be. It says nothing of what the
// groups were not made of, so that it is of no use to be asked.
//
// A feature has 12 bytes. The essence of a text has at most 32 of them for each
// function: 20 keys and 12 anchors, 384 bytes; that of an image 26, 312 bytes,
// however many functions. What is beyond them in a sketch of an image was made by no
// image, and is cut off.
func (s Sketch) Essence(keyed ...func(uint64) uint64) Sketch {
	e := Sketch{Kind: s.Kind, AskOnly: s.AskOnly}
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

// firstView are the first n features of an image's first view.
func firstView(features []Feature, n int) []Feature {
	var of []Feature
	for _, f := range features {
		if f.Pos == 0 && len(of) < n {
			of = append(of, f)
		}
	}
	return of
}

// mark notes where among places the chosen ones are: each where it occurs first.
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

// LeastKeys are the n smallest different keys of a text, keyed, ascending: none where
// it has too few for a sketch, or the sketch is not of a text. AskOnly does not matter.
// Those of the essence are those of the whole, up to 20.
func (s Sketch) LeastKeys(n int, keyed func(uint64) uint64) []uint64 {
	places := placesOf(s.Keys, keyed)
	if _, ok := levelOf(places); !ok || s.Kind == digest.KindImage {
		return nil
	}
	var of []uint64
	for _, k := range smallest(places, 0, n) {
		of = append(of, k.hash)
	}
	return of
}
