package api

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature"
)

// drawSketch draws features by position, as a message has them: of a text one at each, of
// an image up to six anchors and keys in a view.
func drawSketch(t *rapid.T, kind signature.Kind) signature.Sketch {
	features := func(name string) []signature.Feature {
		each, places := 1, uint32(1<<14)
		if kind == signature.KindImage {
			each, places = 6, 11
		}
		var list []signature.Feature
		for _, pos := range slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.Uint32Range(0, places-1), 0, 11, rapid.ID).Draw(t, name))) {
			for _, h := range rapid.SliceOfNDistinct(rapid.Uint64(), 1, each, rapid.ID).Draw(t, "hashes") {
				list = append(list, signature.Feature{Hash: h, Pos: pos})
			}
		}
		return list
	}
	return signature.Sketch{Kind: kind, Anchors: features("anchors"), Keys: features("keys"), AskOnly: rapid.Bool().Draw(t, "ask only")}
}

// What a client writes of sketches the server reads as the same.
func TestSketchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want message
		for i := range rapid.IntRange(0, signature.MaxTexts).Draw(t, "texts") {
			s := drawSketch(t, signature.KindSketch)
			s.AskOnly = s.AskOnly || i == 1
			want.set.Sketches = append(want.set.Sketches, s)
		}
		for range rapid.IntRange(0, signature.MaxImages).Draw(t, "images") {
			want.set.Sketches = append(want.set.Sketches, drawSketch(t, signature.KindImage))
		}
		got, err := resend(want)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
	})
}

func TestSketchRefused(t *testing.T) {
	code := func(b ...byte) string { return base64.StdEncoding.EncodeToString(b) }
	// features are n of one byte of position and eight of hash: apart positions behind each
	// other, with the hashes 0, 1, 2 and so on if they differ.
	features := func(n int, apart byte, differ bool) string {
		var b []byte
		for i := range n {
			hash := uint64(0)
			if differ {
				hash = uint64(i)
			}
			b = binary.BigEndian.AppendUint64(append(b, apart*byte(min(i, 1))), hash)
		}
		return code(b...)
	}
	byView := func(each int) string { // eleven views
		var b []byte
		for view := range 11 {
			for i := range each {
				apart := byte(0)
				if view > 0 && i == 0 {
					apart = 1
				}
				b = binary.BigEndian.AppendUint64(append(b, apart), uint64(i))
			}
		}
		return code(b...)
	}
	for _, tc := range []struct {
		sketch Sketch
		want   string
	}{
		{Sketch{Kind: "fuzzy"}, `sketch 1: unknown signature kind "fuzzy"`},
		{Sketch{Kind: "text"}, `sketch 1: kind "text" is not one of sketches`},
		{Sketch{Kind: "sketch", Anchors: "?"}, "sketch 1: anchors: illegal base64"},
		{Sketch{Kind: "sketch", Keys: code(0, 1, 2, 3, 4, 5, 6, 7)}, "sketch 1: keys: cut short"},
		{Sketch{Kind: "image", Keys: code(0xff, 0xff, 0xff, 0xff, 0x1f, 1, 2, 3, 4, 5, 6, 7, 8)}, "position is too large"},
		{Sketch{Kind: "sketch", Keys: code(0xff)}, "cut short"},
		{Sketch{Kind: "sketch", Anchors: features(1<<14+1, 1, true)}, "anchors: more than 16384"},
		{Sketch{Kind: "sketch", Anchors: features(1<<16, 1, true)}, "anchors: 786432 characters; 16384 features have less"},
		{Sketch{Kind: "sketch", Keys: features(2, 0, true)}, "keys: more than 1 at position 0"},
		{Sketch{Kind: "sketch", Keys: code(0x80, 0x80, 1, 1, 2, 3, 4, 5, 6, 7, 8)}, "keys: number 1 is at position 16384; the last one is 16383"},
		{Sketch{Kind: "image", Anchors: features(1<<14, 0, false)}, "anchors: 196608 characters; 66 features have less"},
		{Sketch{Kind: "image", Anchors: byView(7)}, "anchors: more than 66"},
		{Sketch{Kind: "image", Anchors: features(7, 0, true)}, "anchors: more than 6 at position 0"},
		{Sketch{Kind: "image", Anchors: features(6, 0, false)}, "anchors: number 2 stands there twice"},
		{Sketch{Kind: "image", Anchors: features(12, 1, true)}, "anchors: number 12 is at position 11; the last one is 10"},
		{Sketch{Kind: "shape", Anchors: features(5, 1, true)}, "anchors: more than 4"},
		{Sketch{Kind: "shape", Keys: features(65, 0, true)}, "keys: more than 64 at position 0"},
		{Sketch{Kind: "image", Keys: byView(21)}, "keys: more than 220"},
		{Sketch{Kind: "image", Keys: features(21, 0, true)}, "keys: more than 20 at position 0"},
		{Sketch{Kind: "image", Keys: features(20, 0, false)}, "keys: number 2 stands there twice"},
	} {
		_, err := Request{Sketches: []Sketch{tc.sketch}}.Read()
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60v: %v, want %s", tc.sketch, err, tc.want)
		}
	}
	if _, err := (Request{Sketches: make([]Sketch, maxSketches+1)}).Read(); err == nil || err.Error() != "10 sketches; at most 9" {
		t.Error(err)
	}
	five := slices.Repeat([]Sketch{{Kind: "image"}}, 5)
	if _, err := (Request{Sketches: five}).Read(); err == nil || err.Error() != `sketch 5: more than 4 of kind "image"` {
		t.Error(err)
	}
	longest := Sketch{Kind: "sketch", Anchors: features(1<<14, 1, false), Keys: features(1<<14, 1, true)}
	image := Sketch{Kind: "image", Anchors: byView(6), Keys: byView(20)}
	asked := longest
	asked.AskOnly = true
	shape := Sketch{Kind: "shape", Keys: features(1<<14, 1, true)}
	all := Request{Sketches: []Sketch{longest, asked, longest, longest, image, image, image, image, shape}}
	body, _ := json.Marshal(all)
	if _, err := all.Read(); err != nil || len(body) > MaxBody {
		t.Errorf("the longest sketches: %v, %d bytes of at most %d", err, len(body), MaxBody)
	}
}
