package signature_test

import (
	"os"
	"slices"
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

// Images of a multipart/related that the page does not show come last, and no report lists them: they may be another
// sender's.
func TestUnnamedImages(t *testing.T) {
	content := pageImage(t)
	for _, tt := range []struct {
		name, page   string
		images       int // unnamed ones before that with the Content-ID a
		asked, named int // sketches
	}{
		{"named", "Look: <img src=cid:a@b>", 0, 0, 1},
		{"named in other words", "Look: <img src='CID:%61&#64;b'>", 0, 0, 1},
		{"background", "Look: <table background=cid:a@b><tr><td>", 0, 0, 1},
		{"style", "Look: <p style='background:url(&quot;cid:a@b&quot;) no-repeat'>", 0, 0, 1},
		{"behind unnamed ones", "Look: <img src=cid:a@b>", 6, 1, 1},
		{"unnamed", "Look at our fine new offer", 0, 1, 0},
		{"unnamed beside a remote picture", "<img src=http://a.example/b.png>", 0, 1, 0},
		{"named by another name", "Look at our new offer <img src=cid:aa@b>", 0, 1, 0},
		{"named in a comment", "Look at our new offer <!-- <img src=cid:a@b> cid:a@b -->", 0, 1, 0},
		{"named in a style sheet", "Look at our new offer <style>.x{background:url(\"cid:a@b\")}</style>", 0, 0, 1},
		{"a relative address", "Look at our new offer <img src=image001.png>", 0, 0, 1},
		{"a remote address with a port", "Look at our new offer <img src=http://a.example:80/b.png>", 0, 1, 0},
		{"Content-Location", "Look at our new offer <img src=http://b.example/A.png>", 0, 0, 1},
		{"named by a picture that fades in", "Look at our <style>@keyframes i{from{opacity:0}to{opacity:1}}</style> new offer <p style='animation:i 1s'><img src=cid:a@b>", 0, 0, 1},
		{"named by one with a filter and more", "Look at our new offer <img src=cid:a@b style='filter:invert(1);clip-path:inset(0);scale:1;content:url(x)'>", 0, 0, 1},
		{"named by a hidden picture with a filter", "Look at our new offer <img src=cid:a@b style='filter:invert(1);display:none'>", 0, 1, 0},
		{"named by a hidden picture", "Look at our new offer <img src=cid:a@b style='display:none'>", 0, 1, 0},
		{"named by a tiny picture", "Look at our new offer <img src=cid:a@b width=1 height=1>", 0, 1, 0},
		{"nothing else", "<p>", 0, 0, 1},
	} {
		raw := "Content-Type: multipart/related; boundary=b\n\n--b\nContent-Type: text/html\n\n<html>" + tt.page + "\n" +
			strings.Repeat(imagePart("Content-ID: <x>\n", content), tt.images) + imagePart("Content-ID: <a@b>\nContent-Location: http://b.example/a.png\n", content) + "--b--\n"
		set := signature.Compute(signature.Parse([]byte(raw)))
		asked, named := 0, 0
		for i, s := range imagesOf(set) {
			if s.AskOnly {
				asked++
			} else if named++; i > 0 {
				t.Errorf("%s: one that is not named comes first", tt.name)
			}
		}
		if asked != tt.asked || named != tt.named {
			t.Errorf("%s: %d and %d sketches, want %d and %d", tt.name, asked, named, tt.asked, tt.named)
		}
		attached := signature.Compute(signature.Parse([]byte("Content-Type: message/rfc822\n\n" + raw)))
		if got := slices.ContainsFunc(imagesOf(attached), func(s signature.Sketch) bool { return !s.AskOnly }); got != (tt.named > 0) {
			t.Errorf("%s: in an attached message, an image is reported: %v", tt.name, got)
		}
		if got := len(ofKind(set, signature.KindAttachment)); got != tt.named {
			t.Errorf("%s: %d attachments, want %d", tt.name, got, tt.named)
		}
		if len(ofKind(set, signature.KindBody)) == 0 {
			t.Errorf("%s: no body", tt.name)
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
