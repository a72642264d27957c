package picture

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// vocabulary is what advertisements are written with.
var vocabulary = strings.Fields(`cheap best price now order today only limited offer save money free
delivery worldwide quality guaranteed original brand new watches pills software licence stock alert
buy target symbol growth company market news investors energy gold oil mining report strong profit
expected week month dollars shares increase announced contract million customers trusted discreet
doctor approved natural weight loss energy results within days risk back refund visit website click
type browser address remember store replica luxury leather bags shoes summer winter collection sale
percent discount hurry while supplies last university degree diploma experience fast easy home loan
mortgage rate lowest credit approved bank insurance quote family travel hotel casino bonus deposit
winner jackpot play slots poker cards table live dealer meet singles near your area tonight photos`)

func words(r *rand.Rand, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(list, " ")
}

func face(tb testing.TB, ttf []byte, size float64) font.Face {
	tb.Helper()
	f, err := opentype.Parse(ttf)
	if err != nil {
		tb.Fatal(err)
	}
	made, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		tb.Fatal(err)
	}
	return made
}

func canvas(width, height int, c color.Color) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(m, m.Bounds(), image.NewUniform(c), image.Point{}, draw.Src)
	return m
}

func write(m draw.Image, f font.Face, x, y int, c color.Color, text string) {
	d := font.Drawer{Dst: m, Src: image.NewUniform(c), Face: f, Dot: fixed.P(x, y)}
	d.DrawString(text)
}

// layout is how a text advertisement looks, whatever its text.
type layout struct {
	width, height  int
	paper, ink     color.RGBA
	size           float64
	lines, ofWords int
	left           int
	title          bool
}

func newLayout(r *rand.Rand) layout {
	colour := func(low int) color.RGBA {
		return color.RGBA{uint8(low + r.IntN(56)), uint8(low + r.IntN(56)), uint8(low + r.IntN(56)), 255}
	}
	l := layout{width: 380 + r.IntN(300), paper: colour(200), ink: colour(r.IntN(80)), size: 13 + 8*r.Float64(),
		lines: 8 + r.IntN(9), left: 10 + r.IntN(40), title: r.IntN(3) > 0}
	l.ofWords = int(float64(l.width-l.left) / (3.4 * l.size))
	l.height = int(l.size*1.5*float64(l.lines)) + 90
	return l
}

// textAd draws the lines that r gives; of changed, if 0 or more, other ones.
func (l layout) textAd(tb testing.TB, r *rand.Rand, changed int) image.Image {
	m := canvas(l.width, l.height, l.paper)
	y := 30
	if l.title {
		write(m, face(tb, gobold.TTF, l.size*1.8), l.left, y+10, l.ink, words(r, 3))
		y += 30
	}
	body := face(tb, goregular.TTF, l.size)
	for line := range l.lines {
		text := words(r, l.ofWords/2+r.IntN(l.ofWords/2+1))
		if line == changed {
			text = words(rand.New(rand.NewPCG(uint64(len(text)), 99)), l.ofWords)
		}
		y += int(l.size * 1.5)
		write(m, body, l.left, y, l.ink, text)
	}
	return m
}

// photo is a texture with structure at all sizes, as photographs have it: value
// noise, octaves of which halve in strength.
func photo(r *rand.Rand) image.Image {
	m := canvas(400+r.IntN(400), 300+r.IntN(300), color.Black)
	const lattice = 64
	var values [lattice * lattice]float64
	for i := range values {
		values[i] = r.Float64()
	}
	at := func(x, y float64) float64 {
		ix, iy := math.Floor(x), math.Floor(y)
		fx, fy := x-ix, y-iy
		fx, fy = fx*fx*(3-2*fx), fy*fy*(3-2*fy)
		v := func(dx, dy int) float64 {
			return values[(int(iy)+dy)&(lattice-1)*lattice+(int(ix)+dx)&(lattice-1)]
		}
		return (v(0, 0)*(1-fx)+v(1, 0)*fx)*(1-fy) + (v(0, 1)*(1-fx)+v(1, 1)*fx)*fy
	}
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			sum, strength, scale := 0.0, 0.5, 1.0/130
			for range 5 {
				sum += strength * at(float64(x)*scale, float64(y)*scale)
				strength, scale = strength/1.8, scale*2
			}
			v := uint8(min(255, 255*sum))
			m.SetRGBA(x, y, color.RGBA{v, uint8(int(v) * 3 / 4), 255 - v, 255})
		}
	}
	return m
}

// chart is a bar chart with axes and labels.
func chart(tb testing.TB, r *rand.Rand) image.Image {
	m := canvas(500, 350, color.White)
	label := face(tb, goregular.TTF, 12)
	ink := color.RGBA{40, 40, 40, 255}
	write(m, face(tb, gobold.TTF, 18), 60, 25, ink, words(r, 4))
	draw.Draw(m, image.Rect(50, 40, 52, 310), image.NewUniform(ink), image.Point{}, draw.Src)
	draw.Draw(m, image.Rect(50, 308, 490, 310), image.NewUniform(ink), image.Point{}, draw.Src)
	for bar := range 12 {
		height := 20 + r.IntN(240)
		c := color.RGBA{uint8(r.IntN(200)), uint8(r.IntN(200)), uint8(r.IntN(200)), 255}
		draw.Draw(m, image.Rect(60+bar*36, 308-height, 84+bar*36, 308), image.NewUniform(c), image.Point{}, draw.Src)
		write(m, label, 60+bar*36, 325, ink, words(r, 1)[:2])
	}
	return m
}

// picturedAd is a photograph with a headline and a price.
func picturedAd(tb testing.TB, r *rand.Rand) image.Image {
	m := canvas(560, 420, color.White)
	p := photo(r)
	draw.Draw(m, image.Rect(20, 70, 300, 350), p, image.Pt(40, 10), draw.Src)
	write(m, face(tb, gobold.TTF, 30), 20, 50, color.RGBA{200, 0, 0, 255}, words(r, 4))
	for line := range 9 {
		write(m, face(tb, goregular.TTF, 18), 315, 100+line*28, color.Black, words(r, 3))
	}
	return m
}

func gradient(width, height int) image.Image {
	m := canvas(width, height, color.White)
	for y := range height {
		for x := range width {
			v := uint8(255 * (x + y) / (width + height))
			m.SetRGBA(x, y, color.RGBA{v, v, 255, 255})
		}
	}
	return m
}

// logo is a disc and a name on white.
func logo(tb testing.TB, r *rand.Rand, width, height int) image.Image {
	m := canvas(width, height, color.White)
	radius := float64(height) / 4
	c := color.RGBA{uint8(r.IntN(200)), uint8(r.IntN(200)), uint8(r.IntN(200)), 255}
	for y := range height {
		for x := range width {
			if math.Hypot(float64(x)-float64(width)/4, float64(y)-float64(height)/2) < radius {
				m.SetRGBA(x, y, c)
			}
		}
	}
	write(m, face(tb, gobold.TTF, float64(height)/5), width/2, height*11/20, color.Black, words(r, 1))
	return m
}
