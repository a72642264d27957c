package sketch

import (
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// The bar follows the keys that were stored, or that the message has if these are fewer.
func TestNearlyAll(t *testing.T) {
	for _, c := range []struct {
		name string
		kind signature.Kind
		keys int
		need int
		by   string
		want int
	}{
		{"a text", signature.KindSketch, 50, 8, "", 18},
		{"a short text", signature.KindSketch, 12, 8, "", 11},
		{"a part of a long text of which the message has few keys", signature.KindSketch, 8, 8, "", 11},
		{"an image", signature.KindImage, 20, 11, "", 15},
		{"runs of words of a page", signature.KindShape, 24, 3, signature.ByWords, 12},
		{"words of a page", signature.KindShape, 64, 6, signature.ByWords, 9},
		{"few words of a page", signature.KindShape, 5, 4, signature.ByWords, 4},
		{"a structure of two senders", signature.KindShape, 32, 12, "two-senders", 17},
		{"a structure of three senders", signature.KindShape, 32, 17, "three-senders", 17},
	} {
		g := signature.Group{Keys: make([]uint64, c.keys), Need: c.need, By: c.by}
		if got := NearlyAll(c.kind, g); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
