package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/gif"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/image/bmp"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// withChunk is a PNG with a chunk behind the first one, whose checksum is wrong if fault is not 0.
func withChunk(content []byte, name, data string, fault uint32) []byte {
	out := binary.BigEndian.AppendUint32(bytes.Clone(content[:lengthOfHead]), uint32(len(data)))
	out = append(out, name+data...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE([]byte(name+data))^fault)
	return append(out, content[lengthOfHead:]...)
}

// asAnimation is a GIF with frames of noise before the image, and one behind it if it repeats. The noise
// is shown for a hundredth of a second.
func asAnimation(tb testing.TB, m image.Image, r *rand.Rand, repeats bool) []byte {
	shown := image.NewPaletted(m.Bounds(), palette.Plan9)
	draw.Draw(shown, shown.Rect, m, m.Bounds().Min, draw.Src)
	noise := image.NewPaletted(m.Bounds(), palette.Plan9)
	for i := range noise.Pix {
		noise.Pix[i] = byte(r.IntN(256))
	}
	dot := image.NewPaletted(image.Rect(5, 5, 6, 6), palette.Plan9)
	g := gif.GIF{Image: []*image.Paletted{noise, noise, shown, dot}, Delay: []int{1, 1, 1, 1}, LoopCount: -1}
	if repeats {
		g = gif.GIF{Image: []*image.Paletted{noise, shown, dot, noise}, Delay: []int{1, 1, 3000, 1}}
	}
	var b bytes.Buffer
	testenv.Check(tb, gif.EncodeAll(&b, &g))
	return b.Bytes()
}

// An image with a fault that programs overlook has the code of the image that they show.
func TestShownFaults(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	r := rand.New(rand.NewPCG(1, 1))
	ad := newLayout(r).textAd(t, r, -1)
	png, jpeg, animated := asPNG(t, ad), asJPEG(t, ad, 80), asGIF(t, ad)
	var b bytes.Buffer
	testenv.Check(t, bmp.Encode(&b, ad))
	want, _, err := Read(png, plenty)
	testenv.Check(t, err)
	check := func(name string, content []byte) {
		got, _, err := Read(content, plenty)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		same := 0
		for i, k := range got.Codes[0].Keys {
			if k == want.Codes[0].Keys[i] {
				same++
			}
		}
		if same < 15 {
			t.Errorf("%s: %d of %d keys", name, same, len(want.Codes[0].Keys))
		}
	}
	for _, n := range []int{1, 2, 5, 13, 30} {
		check("PNG without its end", png[:len(png)-n])
		check("JPEG without its end", jpeg[:len(jpeg)-n])
		check("JPEG with less data", append(bytes.Clone(jpeg[:len(jpeg)-n]), 0xff, 0xd9))
		check("GIF without its end", animated[:len(animated)-n])
		check("BMP without its end", b.Bytes()[:b.Len()-n])
	}
	check("PNG with a faulty text", withChunk(png, "tEXt", "a", 1))
	check("PNG with an odd transparency", withChunk(png, "tRNS", "a", 0))
	checksum := bytes.Clone(png)
	checksum[len(png)-13] ^= 1
	check("PNG with a faulty checksum", checksum)
	scan := bytes.Index(jpeg, []byte("\xff\xda"))
	check("JPEG with a number of lines and another coding", append(append(bytes.Clone(jpeg[:scan]), "\xff\xdc\x00\x04\x00\xc8\xff\xcc\x00\x04\x00\x10"...), jpeg[scan:]...))
	check("JPEG with bytes between", append(append(bytes.Clone(jpeg[:scan]), "\x00\x01\xff\xff"...), jpeg[scan:]...))
	check("animation that ends", asAnimation(t, ad, r, false))
	check("animation that repeats", asAnimation(t, ad, r, true))
	large := bytes.Clone(animated)
	clear(large[6:10])
	check("GIF without a screen", large)
}

// The code of an animation is that of the picture that readers see, also if another one is shown briefly.
func TestDecoysInAnimation(t *testing.T) {
	greys := make(color.Palette, 16)
	for i := range greys {
		greys[i] = color.Gray{Y: byte(17 * i)}
	}
	shown := image.NewPaletted(image.Rect(0, 0, 60, 300), greys)
	for i := range shown.Pix {
		shown.Pix[i] = byte(i * i >> 8 & 15)
	}
	part := func(rect image.Rectangle) *image.Paletted { return shown.SubImage(rect).(*image.Paletted) }
	noise := image.NewPaletted(shown.Rect, greys)
	for i := range noise.Pix {
		noise.Pix[i] = byte(i * i >> 5 & 15)
	}
	dot := part(image.Rect(5, 5, 6, 6))
	dots := func(n int) []*image.Paletted { return slices.Repeat([]*image.Paletted{dot}, n) }
	strips := []*image.Paletted{noise}
	for y := 0; y < shown.Rect.Dy(); y += 16 {
		strips = append(strips, part(image.Rect(0, y, shown.Rect.Dx(), y+16)))
	}
	const restore, ends = 3, -1
	for _, tt := range []struct {
		name     string
		frames   []*image.Paletted
		delays   []int // the last one counts for further frames
		disposal []byte
		loops    int
		from, to string // replaced in the file
	}{
		{"noise that goes away", []*image.Paletted{shown, noise, dot}, []int{1, 1, 3000}, []byte{1, restore, 1}, 0, "", ""},
		{"noise after some seconds", []*image.Paletted{shown, noise}, []int{3000, 1}, nil, ends, "", ""},
		{"noise after some loops", []*image.Paletted{shown, noise}, []int{200, 1}, nil, 6, "", ""},
		{"in strips", strips, []int{1}, nil, ends, "", ""},
		{"with small changes", append([]*image.Paletted{noise, shown}, dots(9)...), []int{51, 20}, nil, 0, "", ""},
		{"another extension", []*image.Paletted{noise, shown}, []int{20, 1}, nil, 0, "NETSCAPE2.0", "NETSCAPE2.1"},
		{"another name", []*image.Paletted{shown, noise}, []int{900, 1}, nil, 0, "NETSCAPE2.0", "ANIMEXTS1.0"},
		{"another flag", []*image.Paletted{shown, noise}, []int{900, 1}, nil, 0, "2.0\x03\x01", "2.0\x03\x09"},
		{"delays that are too short", []*image.Paletted{noise, shown}, []int{9, 1}, nil, 0, "", ""},
		{"a frame without a size", []*image.Paletted{shown}, []int{1}, nil, ends, ",\x00\x00\x00\x00" + string([]byte{byte(shown.Rect.Dx()), byte(shown.Rect.Dx() >> 8)}), ",\x00\x00\x00\x00\x00\x00"},
	} {
		g := gif.GIF{Image: tt.frames, Disposal: tt.disposal, LoopCount: tt.loops}
		for i := range tt.frames {
			g.Delay = append(g.Delay, tt.delays[min(i, len(tt.delays)-1)])
		}
		var b bytes.Buffer
		testenv.Check(t, gif.EncodeAll(&b, &g))
		got := readGIF(bytes.Replace(b.Bytes(), []byte(tt.from), []byte(tt.to), 1)).decode().(*image.Gray)
		wrong := 0
		for i, index := range shown.Pix {
			if i >= len(got.Pix) || got.Pix[i] != 17*index {
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d pixels are others", tt.name, wrong, len(shown.Pix))
		}
	}
}

// Without a fault, an image in GIF is the one that image/gif sees, interlaced and transparent as well.
func TestGIF(t *testing.T) {
	m := image.NewPaletted(image.Rect(0, 0, 130, 71), append(palette.WebSafe[:20:20], image.Transparent.C))
	for i := range m.Pix {
		m.Pix[i] = byte(i * i % 21)
	}
	var b bytes.Buffer
	testenv.Check(t, gif.Encode(&b, m, nil))
	for _, interlaced := range []bool{false, true} {
		content := b.Bytes()
		if interlaced {
			content[bytes.LastIndex(content[:13+3*32+30], []byte{',', 0, 0, 0, 0})+9] |= isInterlaced
		}
		seen, err := gif.Decode(bytes.NewReader(content))
		testenv.Check(t, err)
		f, err := open(content)
		testenv.Check(t, err)
		got, err := f.decode()
		if testenv.Check(t, err); f.cost != 130*71 || *shrink(got) != *shrink(seen) {
			t.Errorf("interlaced %v: another image, cost %d", interlaced, f.cost)
		}
	}
}
