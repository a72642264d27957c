package sketch_test

import (
	"testing"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/sketch"
)

func TestCheckRefuses(t *testing.T) {
	image := func(anchors ...sketch.Feature) sketch.Sketch {
		return sketch.Sketch{Kind: digest.KindImage, Anchors: anchors}
	}
	text := func(keys ...sketch.Feature) sketch.Sketch { return sketch.Sketch{Kind: digest.KindSketch, Keys: keys} }
	for want, s := range map[string]sketch.Sketch{
		"":                                     image(sketch.Feature{1, 0}, sketch.Feature{2, 0}, sketch.Feature{1, 1}, sketch.Feature{1, 10}),
		"anchors: number 3 stands there twice": image(sketch.Feature{1, 0}, sketch.Feature{2, 0}, sketch.Feature{1, 0}),
		"anchors: number 2 is at position 0, before the one before it": image(sketch.Feature{1, 1}, sketch.Feature{1, 0}),
		"anchors: number 1 is at position 11; the last one is 10":      image(sketch.Feature{1, 11}),
		"anchors: more than 6 at position 0":                           image(sketch.Feature{1, 0}, sketch.Feature{2, 0}, sketch.Feature{3, 0}, sketch.Feature{4, 0}, sketch.Feature{5, 0}, sketch.Feature{6, 0}, sketch.Feature{7, 0}),
		"keys: more than 1 at position 3":                              text(sketch.Feature{1, 0}, sketch.Feature{1, 3}, sketch.Feature{2, 3}),
		"keys: number 2 is at position 16384; the last one is 16383":   text(sketch.Feature{1, 16383}, sketch.Feature{1, 16384}),
	} {
		got := ""
		if err := s.Check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
}
