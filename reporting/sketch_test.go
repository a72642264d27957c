package reporting

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature"
)

// drawSketch draws features by position.
func drawSketch(t *rapid.T) signature.Sketch {
	features := func(name string) []signature.Feature {
		var list []signature.Feature
		pos := uint32(0)
		for range rapid.IntRange(0, 30).Draw(t, name) {
			pos += rapid.Uint32Range(0, math.MaxUint32/40).Draw(t, "apart")
			list = append(list, signature.Feature{Hash: rapid.Uint64().Draw(t, "hash"), Pos: pos})
		}
		return list
	}
	kind := rapid.SampledFrom([]signature.Kind{signature.KindSketch, signature.KindImage}).Draw(t, "kind")
	return signature.Sketch{Kind: kind, Anchors: features("anchors"), Keys: features("keys"), AskOnly: rapid.Bool().Draw(t, "ask only")}
}

// What a client writes of sketches the server reads as the same.
func TestSketchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want Report
		for i := range rapid.IntRange(0, maxSketches).Draw(t, "sketches") {
			want.Set.Sketches = append(want.Set.Sketches, drawSketch(t))
			if i > 0 {
				want.Set.Sketches[i].Kind = signature.KindImage
			}
		}
		got, err := resend(want)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
	})
}

func TestSketchRefused(t *testing.T) {
	code := func(b ...byte) string { return base64.StdEncoding.EncodeToString(b) }
	long := code(make([]byte, 9*(maxFeatures+1))...)
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
		{Sketch{Kind: "sketch", Anchors: long}, "anchors: more than 16384"},
	} {
		_, err := Request{Sketches: []Sketch{tc.sketch}}.report()
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60v: %v, want %s", tc.sketch, err, tc.want)
		}
	}
	if _, err := (Request{Sketches: make([]Sketch, maxSketches+1)}).report(); err == nil || err.Error() != "9 sketches; at most 8" {
		t.Error(err)
	}
	longest := Sketch{Kind: "sketch", Anchors: long[:9*maxFeatures/3*4], Keys: long[:9*maxFeatures/3*4]}
	image := longest
	image.Kind = "image"
	body, _ := json.Marshal(Request{Sketches: []Sketch{longest, image}})
	if _, err := (Request{Sketches: []Sketch{longest, image}}).report(); err != nil || len(body) > maxBody {
		t.Errorf("two of the longest sketches: %v, %d bytes of at most %d", err, len(body), maxBody)
	}
}

// likely is message n whose text differs in its first words from that of others.
func likely(n byte, differing uint64) signature.Set {
	s := signature.Sketch{Kind: signature.KindSketch}
	for pos := range uint64(60) {
		word := pos
		if pos < differing {
			word += 1000 * uint64(n)
		}
		s.Anchors = append(s.Anchors, signature.Feature{Hash: (2*word + 1) * 0x9e3779b97f4a7c15, Pos: uint32(pos)})
		s.Keys = append(s.Keys, signature.Feature{Hash: (2*word + 2) * 0x9e3779b97f4a7c15, Pos: uint32(pos)})
	}
	text := signature.Signature{Kind: signature.KindText, Digest: signature.Digest{n}}
	return signature.Set{Signatures: []signature.Signature{text}, Sketches: []signature.Sketch{s}}
}

// Through the API: a near-duplicate of what was reported is spam, with how alike it
// is, and explain says so by site; once one is revoked, it is not.
func TestSketchAnswers(t *testing.T) {
	c, ctx := serve(t), t.Context()
	if _, err := c.client.Report(ctx, NewRequest(likely(1, 0))); err != nil {
		t.Fatal(err)
	}
	near := NewRequest(likely(2, 6))
	a, err := c.client.Check(ctx, near)
	if err != nil || a.Verdict != "spam" || !slices.Equal(a.Kinds, []string{"sketch"}) || !strings.HasPrefix(a.ID, "sketch:") {
		t.Fatalf("near-duplicate: %+v, %v", a, err)
	}
	if o := a.Overlap; o == nil || o.Found < o.Need || o.Need == 0 || o.Keys < o.Found {
		t.Errorf("overlap %+v", o)
	}
	x, err := c.client.Explain(ctx, near)
	if err != nil || len(x.Sketches) != 1 || len(x.Sketches[0].Spam) != 1 || len(x.Sketches[0].Revoked) != 0 {
		t.Fatalf("explained: %+v, %v", x, err)
	}
	if trail := x.Sketches[0].Spam[0]; trail.Site != "mx1" || trail.Found < a.Overlap.Found || trail.Start.IsZero() {
		t.Errorf("trail %+v, overlap %+v", trail, a.Overlap)
	}
	if a, err := c.client.Check(ctx, NewRequest(likely(1, 0))); err != nil || a.Overlap != nil || !slices.Equal(a.Kinds, []string{"text", "sketch"}) {
		t.Errorf("the reported one: %+v, %v", a, err)
	}
	if _, err := c.client.Revoke(ctx, NewRequest(likely(3, 3))); err != nil {
		t.Fatal(err)
	}
	if a, err := c.client.Check(ctx, near); err != nil || a.Verdict != "clean" || a.Overlap != nil {
		t.Errorf("after another one was revoked: %+v, %v", a, err)
	}
	if x, err := c.client.Explain(ctx, near); err != nil || len(x.Sketches) != 1 || len(x.Sketches[0].Revoked) != 1 {
		t.Errorf("explained: %+v, %v", x, err)
	}
}
