package signature

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever is signed, hostile or not, is within the bounds that others' signatures have,
// and the largest sketches reach them.
func TestBounds(t *testing.T) {
	all := everyHostile(t)
	mails, err := filepath.Glob("testdata/*.eml")
	if err != nil {
		t.Fatal(err)
	}
	for _, mail := range mails {
		if all[mail], err = os.ReadFile(mail); err != nil {
			t.Fatal(err)
		}
	}
	images := 0
	for name, raw := range all {
		set := Compute(Parse(raw))
		of := make(map[Kind]int)
		for _, s := range set.Signatures {
			of[s.Kind]++
		}
		for kind, n := range of {
			if isPart := kind == KindAttachment || kind == KindContent; n > 1 && !isPart || n > MaxAttachments {
				t.Errorf("%s: %d of %v", name, n, kind)
			}
		}
		clear(of)
		for i, s := range set.Sketches {
			if of[s.Kind]++; of[s.Kind] > MaxImages || s.Kind == KindSketch && (i >= MaxTexts || i == 1 && !s.AskOnly && !set.Sketches[0].AskOnly) {
				t.Errorf("%s: sketch %d is of kind %v", name, i+1, s.Kind)
			}
			if err := s.Check(); err != nil {
				t.Errorf("%s: sketch %d: %v", name, i+1, err)
			}
			if anchors, keys := MaxFeatures(s.Kind); s.Kind == KindImage && len(s.Anchors) == anchors && len(s.Keys) == keys {
				images++
			}
		}
	}
	if images == 0 {
		t.Error("no image has as many features as images may have")
	}
}

func TestCheckRefuses(t *testing.T) {
	image := func(anchors ...Feature) Sketch { return Sketch{Kind: KindImage, Anchors: anchors} }
	text := func(keys ...Feature) Sketch { return Sketch{Kind: KindSketch, Keys: keys} }
	for want, s := range map[string]Sketch{
		"":                                     image(Feature{1, 0}, Feature{2, 0}, Feature{1, 1}, Feature{1, 10}),
		"anchors: number 3 stands there twice": image(Feature{1, 0}, Feature{2, 0}, Feature{1, 0}),
		"anchors: number 2 is at position 0, before the one before it": image(Feature{1, 1}, Feature{1, 0}),
		"anchors: number 1 is at position 11; the last one is 10":      image(Feature{1, 11}),
		"anchors: more than 6 at position 0":                           image(Feature{1, 0}, Feature{2, 0}, Feature{3, 0}, Feature{4, 0}, Feature{5, 0}, Feature{6, 0}, Feature{7, 0}),
		"keys: more than 1 at position 3":                              text(Feature{1, 0}, Feature{1, 3}, Feature{2, 3}),
		"keys: number 2 is at position 16384; the last one is 16383":   text(Feature{1, 16383}, Feature{1, 16384}),
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
