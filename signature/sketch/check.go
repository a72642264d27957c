package sketch

import (
	"fmt"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/picture"
)

// MaxFeatures returns how many anchors and keys a sketch of a kind has at most.
func MaxFeatures(kind digest.Kind) (anchors, keys int) {
	switch kind {
	case digest.KindImage:
		anchors, keys := ofView()
		return picture.Views * anchors, picture.Views * keys
	case digest.KindShape:
		return shapeGroups, 2*codeSize + MaxWords
	}
	return MaxWords, MaxWords
}

func ofView() (anchors, keys int) {
	var c picture.Code
	return len(c.Anchors), len(c.Keys)
}

// Check returns an error if no message has such a sketch. A text has at most one anchor
// and one key from each of its 16,384 words on. A view of an image has 6 anchors and 20
// keys, all different.
func (s Sketch) Check() error {
	anchors, keys := 1, 1 // at a position
	places, keyPlaces := uint32(MaxWords), uint32(MaxWords)
	if s.Kind == digest.KindImage {
		anchors, keys = ofView()
		places, keyPlaces = picture.Views, picture.Views
	}
	if s.Kind == digest.KindShape {
		keys, places, keyPlaces = maxContents, shapeGroups, runsPlace+MaxWords
	}
	if err := checkFeatures(s.Anchors, anchors, places); err != nil {
		return fmt.Errorf("anchors: %w", err)
	}
	if err := checkFeatures(s.Keys, keys, keyPlaces); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// checkFeatures checks features by position, with at most so many at each. Features are
// compared only with those of the same position, so each costs 20 steps at most.
func checkFeatures(features []Feature, each int, places uint32) error {
	first := 0 // of this position
	for i, f := range features {
		if f.Pos >= places {
			return fmt.Errorf("number %d is at position %d; the last one is %d", i+1, f.Pos, places-1)
		}
		if i > 0 && f.Pos < features[i-1].Pos {
			return fmt.Errorf("number %d is at position %d, before the one before it", i+1, f.Pos)
		}
		if i > 0 && f.Pos > features[i-1].Pos {
			first = i
		}
		if i-first == each {
			return fmt.Errorf("more than %d at position %d", each, f.Pos)
		}
		for _, other := range features[first:i] {
			if other == f {
				return fmt.Errorf("number %d stands there twice", i+1)
			}
		}
	}
	return nil
}
