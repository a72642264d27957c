package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"testing"

	scale "golang.org/x/image/draw"
)

// variation is what a spammer's program does to an image before it sends it.
type variation struct {
	name string
	make func(tb testing.TB, m image.Image, r *rand.Rand) []byte
}

func asPNG(tb testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func asJPEG(tb testing.TB, m image.Image, quality int) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func asGIF(tb testing.TB, m image.Image) []byte {
	var b bytes.Buffer
	if err := gif.Encode(&b, m, &gif.Options{NumColors: 256}); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func asWebSafe(tb testing.TB, m image.Image) []byte {
	p := image.NewPaletted(m.Bounds(), palette.WebSafe)
	draw.Draw(p, p.Rect, m, m.Bounds().Min, draw.Src)
	return asPNG(tb, p)
}

func resized(m image.Image, percent int) image.Image {
	b := m.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, b.Dx()*percent/100, b.Dy()*percent/100))
	scale.CatmullRom.Scale(out, out.Rect, m, b, draw.Src, nil)
	return out
}

// mapped changes each pixel's channels.
func mapped(m image.Image, f func(v float64) float64) image.Image {
	out := copied(m)
	for i := range out.Pix {
		if i%4 != 3 {
			out.Pix[i] = uint8(max(0, min(255, math.Round(f(float64(out.Pix[i]))))))
		}
	}
	return out
}

func copied(m image.Image) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, m.Bounds().Dx(), m.Bounds().Dy()))
	draw.Draw(out, out.Rect, m, m.Bounds().Min, draw.Src)
	return out
}

func noisy(m image.Image, r *rand.Rand, sigma float64) image.Image {
	return mapped(m, func(v float64) float64 { return v + sigma*r.NormFloat64() })
}

func randomColour(r *rand.Rand) color.RGBA {
	return color.RGBA{uint8(r.IntN(256)), uint8(r.IntN(256)), uint8(r.IntN(256)), 255}
}

func speckled(m image.Image, r *rand.Rand, percent float64) image.Image {
	out := copied(m)
	for range int(percent / 100 * float64(out.Rect.Dx()*out.Rect.Dy())) {
		out.SetRGBA(r.IntN(out.Rect.Dx()), r.IntN(out.Rect.Dy()), randomColour(r))
	}
	return out
}

func dotted(m image.Image, r *rand.Rand, dots int) image.Image {
	out := copied(m)
	for range dots {
		x, y, size := r.IntN(out.Rect.Dx()), r.IntN(out.Rect.Dy()), 2+r.IntN(3)
		draw.Draw(out, image.Rect(x, y, x+size, y+size), image.NewUniform(randomColour(r)), image.Point{}, draw.Src)
	}
	return out
}

func lined(m image.Image, r *rand.Rand, lines int) image.Image {
	out := copied(m)
	for range lines {
		x, y, angle, c := float64(r.IntN(out.Rect.Dx())), float64(r.IntN(out.Rect.Dy())), 2*math.Pi*r.Float64(), randomColour(r)
		for range 60 + r.IntN(200) {
			out.SetRGBA(int(x), int(y), c)
			x, y = x+math.Cos(angle), y+math.Sin(angle)
		}
	}
	return out
}

func bordered(m image.Image, r *rand.Rand, most int) image.Image {
	left, top, right, bottom := r.IntN(most+1), r.IntN(most+1), r.IntN(most+1), r.IntN(most+1)
	out := canvas(m.Bounds().Dx()+left+right, m.Bounds().Dy()+top+bottom, randomColour(r))
	draw.Draw(out, image.Rect(left, top, left+m.Bounds().Dx(), top+m.Bounds().Dy()), m, m.Bounds().Min, draw.Src)
	return out
}

// cropped cuts up to percent of width and height away at random sides.
func cropped(m image.Image, r *rand.Rand, percent float64) image.Image {
	b := m.Bounds()
	x, y := percent/100*float64(b.Dx()), percent/100*float64(b.Dy())
	left, top := r.Float64()*x, r.Float64()*y
	in := image.Rect(b.Min.X+int(left), b.Min.Y+int(top), b.Max.X-int(x-left), b.Max.Y-int(y-top))
	out := image.NewRGBA(image.Rect(0, 0, in.Dx(), in.Dy()))
	draw.Draw(out, out.Rect, m, in.Min, draw.Src)
	return out
}

var variations = []variation{
	{"PNG", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, m) }},
	{"JPEG quality 90", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asJPEG(tb, m, 90) }},
	{"JPEG quality 60", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asJPEG(tb, m, 60) }},
	{"JPEG quality 40", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asJPEG(tb, m, 40) }},
	{"GIF dithered", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asGIF(tb, m) }},
	{"216 colours", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asWebSafe(tb, m) }},
	{"scaled to 50 %", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asJPEG(tb, resized(m, 50), 80) }},
	{"scaled to 70-140 %", func(tb testing.TB, m image.Image, r *rand.Rand) []byte {
		return asJPEG(tb, resized(m, 70+r.IntN(71)), 80)
	}},
	{"scaled to 200 %", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asJPEG(tb, resized(m, 200), 80) }},
	{"noise, sigma 5", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, noisy(m, r, 5)) }},
	{"noise, sigma 10", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, noisy(m, r, 10)) }},
	{"1 % of pixels random", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, speckled(m, r, 1)) }},
	{"3 % of pixels random", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, speckled(m, r, 3)) }},
	{"border up to 3 px", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, bordered(m, r, 3)) }},
	{"border up to 6 px", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, bordered(m, r, 6)) }},
	{"1 % cropped", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, cropped(m, r, 1)) }},
	{"2 % cropped", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, cropped(m, r, 2)) }},
	{"brighter or darker by 15", func(tb testing.TB, m image.Image, r *rand.Rand) []byte {
		by := float64(r.IntN(31) - 15)
		return asPNG(tb, mapped(m, func(v float64) float64 { return v + by }))
	}},
	{"contrast 85-115 %", func(tb testing.TB, m image.Image, r *rand.Rand) []byte {
		by := 0.85 + 0.3*r.Float64()
		return asPNG(tb, mapped(m, func(v float64) float64 { return 128 + by*(v-128) }))
	}},
	{"gamma 0.8-1.25", func(tb testing.TB, m image.Image, r *rand.Rand) []byte {
		by := 0.8 + 0.45*r.Float64()
		return asPNG(tb, mapped(m, func(v float64) float64 { return 255 * math.Pow(v/255, by) }))
	}},
	{"100 dots", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, dotted(m, r, 100)) }},
	{"300 dots", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, dotted(m, r, 300)) }},
	{"10 lines", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, lined(m, r, 10)) }},
	{"30 lines", func(tb testing.TB, m image.Image, r *rand.Rand) []byte { return asPNG(tb, lined(m, r, 30)) }},
	{"all at once, slightly", func(tb testing.TB, m image.Image, r *rand.Rand) []byte {
		m = bordered(dotted(noisy(m, r, 4), r, 50), r, 2)
		return asJPEG(tb, resized(m, 90+r.IntN(21)), 70)
	}},
}
