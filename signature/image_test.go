package signature_test

import (
	"os"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/mail"
)

// pageImage returns the written page of vector 70, 300 by 260 pixels.
func pageImage(tb testing.TB) []byte {
	tb.Helper()
	raw, err := os.ReadFile("testdata/70-image.eml")
	if err != nil {
		tb.Fatal(err)
	}
	var content []byte
	mail.Walk(signature.Parse(raw), nil, func(l mail.Leaf) {
		if l.MediaType == "image/png" {
			content = l.File(nil)
		}
	})
	return content
}

func imagesOf(s signature.Set) (sketches []signature.Sketch) {
	for _, sketch := range s.Sketches {
		if sketch.Kind == signature.KindImage {
			sketches = append(sketches, sketch)
		}
	}
	return sketches
}

func imagePart(header string, content []byte) string {
	return "--b\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n" + header + "\n" + encode(content) + "\n"
}

// An image has a sketch if it is attached, or beside no text that signs.
func TestImageSigns(t *testing.T) {
	page := pageImage(t)
	for _, tt := range []struct {
		name, kind, text, header string
		want                     int
	}{
		{"attached", "mixed", "See this.", "", 1},
		{"attached beside text", "mixed", ampleProse, "", 1},
		{"embedded alone", "related", "", "Content-ID: <a>\n", 1},
		{"embedded beside a short text", "related", prose, "Content-ID: <a>\n", 0},
		{"embedded beside more text", "related", ampleProse, "Content-ID: <a>\n", 0},
		{"returned", "report", prose + "\n--b\nContent-Type: message/delivery-status\n\nStatus: 5.1.1\n--b\n", "", 0},
		{"report without a report", "report", ampleProse, "", 1},
	} {
		raw := "Content-Type: multipart/" + tt.kind + "; boundary=b\n\n--b\n\n" + tt.text + "\n" + imagePart(tt.header, page) + "--b--\n"
		if got := len(imagesOf(signature.Compute(signature.Parse([]byte(raw))))); got != tt.want {
			t.Errorf("%s: %d sketches, want %d", tt.name, got, tt.want)
		}
	}
}

func TestImagesBounded(t *testing.T) {
	raw := "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat(imagePart("", pageImage(t)), 6)
	if got := len(imagesOf(signature.Compute(signature.Parse([]byte(raw))))); got != maxPictures {
		t.Errorf("%d sketches, want %d", got, maxPictures)
	}
}

// A report of the image of vector 70 is found by its variation, vector 71.
func TestImageGroups(t *testing.T) {
	keyed := func(h uint64) uint64 { return h*0x9E3779B97F4A7C15 ^ 12345 }
	first, second := imagesOf(vectorSet(t, "70")), imagesOf(vectorSet(t, "71"))
	if len(first) != 1 || len(second) != 1 {
		t.Fatalf("%d and %d sketches", len(first), len(second))
	}
	if n := len(first[0].Reported(keyed)); n != 6 {
		t.Fatalf("%d groups reported", n)
	}
	stored := make(map[[2]uint64]bool)
	for _, g := range first[0].Reported(keyed)[:signature.StoredAnchors] {
		for _, k := range g.Keys {
			stored[[2]uint64{g.Anchor, k}] = true
		}
	}
	best := 0
	for _, g := range second[0].Asked(keyed) {
		n := 0
		for _, k := range g.Keys {
			if stored[[2]uint64{g.Anchor, k}] {
				n++
			}
		}
		best = max(best, n)
	}
	if best < needOfImage {
		t.Errorf("%d keys match, want %d", best, needOfImage)
	}
}
