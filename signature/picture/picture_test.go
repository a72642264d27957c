package picture

import (
	"fmt"
	"github.com/spambloom/spambloom/cmd/testenv"
	"image"
	"image/color"
	"math/rand/v2"
	"testing"
)

// likeness is how alike two images are: the keys that agree in the view of which an
// anchor agrees.
func likeness(reported, asked Image) (anchors, keys int) {
	agree := func(a, b []uint64) (n int) {
		for i := range a {
			if a[i] == b[i] {
				n++
			}
		}
		return n
	}
	for _, c := range asked.Codes {
		a := agree(reported.Codes[0].Anchors[:], c.Anchors[:])
		if k := agree(reported.Codes[0].Keys[:], c.Keys[:]); a > 0 && k >= keys {
			anchors, keys = a, k
		}
	}
	return anchors, keys
}

// enough is how many keys make a match, as package signature has it; weak, where
// something else corroborates it.
const enough, weak = 11, 8

func read(tb testing.TB, content []byte) Image {
	tb.Helper()
	im, _, err := Read(content, plenty)
	if err != nil {
		tb.Fatal(err)
	}
	return im
}

func subjects(tb testing.TB) map[string]image.Image {
	made := make(map[string]image.Image)
	for i := range uint64(2) {
		r := rand.New(rand.NewPCG(i, 1))
		made[fmt.Sprint("text ", i)] = newLayout(r).textAd(tb, r, -1)
	}
	r := rand.New(rand.NewPCG(7, 1))
	made["photo"], made["chart"], made["advertisement"] = photo(r), chart(tb, r), picturedAd(tb, r)
	return made
}

// What a spammer does to an image leaves it what it is.
func TestVariations(t *testing.T) {
	testenv.Servers(t)
	t.Parallel()
	if testenv.RanWithoutRace(t) {
		return
	}
	survived, all := 0, 0
	reported := make(map[string]Image)
	made := subjects(t)
	for name, m := range made {
		reported[name] = read(t, asPNG(t, m))
	}
	for i, v := range variations {
		matched, keys := 0, 0
		for name, m := range made {
			r := rand.New(rand.NewPCG(uint64(i), uint64(len(name))))
			_, k := likeness(reported[name], read(t, v.make(t, m, r)))
			if k >= enough {
				matched++
			}
			keys += k
		}
		t.Logf("%-25s %d of %d, %4.1f keys of 20", v.name, matched, len(made), float64(keys)/float64(len(made)))
		if matched < len(made)-2 {
			t.Errorf("%s: only %d of %d match", v.name, matched, len(made))
		}
		survived, all = survived+matched, all+len(made)
	}
	if survived*100 < all*92 {
		t.Errorf("%d of %d variations match, want 92 %%", survived, all)
	}
}

// An advertisement of which one line is another still is alike.
func TestOneLineChanged(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	matched := 0
	const all = 6
	for i := range uint64(all) {
		l := newLayout(rand.New(rand.NewPCG(i, 1)))
		before, after := l.textAd(t, rand.New(rand.NewPCG(i, 2)), -1), l.textAd(t, rand.New(rand.NewPCG(i, 2)), 3)
		if _, k := likeness(read(t, asPNG(t, before)), read(t, asPNG(t, after))); k >= weak {
			matched++
		}
	}
	t.Logf("%d of %d match", matched, all)
	if matched < all*2/3 {
		t.Errorf("%d of %d match", matched, all)
	}
}

// Images of which one is no variation of another do not match, even where they
// have the same layout, fonts and colours.
func TestDifferentImages(t *testing.T) {
	t.Parallel()
	if testenv.RanWithoutRace(t) {
		return
	}
	groups := map[string]func(i uint64) image.Image{
		"same layout": func(i uint64) image.Image {
			return newLayout(rand.New(rand.NewPCG(3, 1))).textAd(t, rand.New(rand.NewPCG(i, 4)), -1)
		},
		"texts": func(i uint64) image.Image {
			r := rand.New(rand.NewPCG(i, 3))
			return newLayout(r).textAd(t, r, -1)
		},
		"photos":         func(i uint64) image.Image { return photo(rand.New(rand.NewPCG(i, 3))) },
		"charts":         func(i uint64) image.Image { return chart(t, rand.New(rand.NewPCG(i, 3))) },
		"advertisements": func(i uint64) image.Image { return picturedAd(t, rand.New(rand.NewPCG(i, 3))) },
	}
	for name, draw := range groups {
		var images []Image
		for i := range uint64(8) {
			images = append(images, read(t, asPNG(t, draw(i))))
		}
		pairs, anchored, most := 0, 0, 0
		for i, a := range images {
			for j, b := range images {
				if i == j {
					continue
				}
				anchors, keys := likeness(a, b)
				pairs, most = pairs+1, max(most, keys)
				if anchors > 0 {
					anchored++
				}
				if keys >= enough {
					t.Errorf("%s %d and %d agree in %d keys", name, i, j, keys)
				}
			}
		}
		t.Logf("%-15s %d of %d pairs share an anchor, at most %d keys", name, anchored, pairs, most)
	}
}

// What many senders share, or shows nothing, has no code.
func TestGuards(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	r := rand.New(rand.NewPCG(1, 1))
	page := newLayout(r).textAd(t, r, -1)
	for _, tt := range []struct {
		name string
		m    image.Image
		want bool
	}{
		{"written page", page, true},
		{"tracking pixel", canvas(1, 1, color.White), false},
		{"icon", resized(page, 10), false},
		{"too narrow", copied(page).SubImage(image.Rect(0, 0, 99, 300)), false},
		{"too small an area", copied(page).SubImage(image.Rect(0, 0, 150, 199)), false},
		{"banner", logo(t, r, 468, 60), false},
		{"logo", logo(t, r, 300, 150), false},
		{"large logo", logo(t, r, 600, 300), false},
		{"large logo with noise", noisy(logo(t, r, 600, 300), r, 3), false},
		{"blank", canvas(600, 400, color.White), false},
		{"black", canvas(600, 400, color.Black), false},
		{"transparent", canvas(600, 400, color.Transparent), false},
		{"gradient", gradient(600, 400), false},
	} {
		for encoding, content := range map[string][]byte{"PNG": asPNG(t, tt.m), "JPEG": asJPEG(t, tt.m, 75), "GIF": asGIF(t, tt.m)} {
			if _, _, err := Read(content, plenty); (err == nil) != tt.want {
				t.Errorf("%s as %s: %v, want a code: %v", tt.name, encoding, err, tt.want)
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	page := newLayout(r).textAd(b, r, -1)
	for _, tt := range []struct {
		name    string
		content []byte
	}{
		{"PNG", asPNG(b, page)}, {"GIF", asGIF(b, page)}, {"JPEG", asJPEG(b, page, 75)},
		{"JPEG of a photo", asJPEG(b, photo(r), 85)},
	} {
		b.Run(tt.name, func(b *testing.B) {
			pixels := 0
			for b.Loop() {
				im, _, err := Read(tt.content, plenty)
				testenv.Check(b, err)
				pixels += im.Width * im.Height
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(pixels), "ns/pixel")
		})
	}
}
