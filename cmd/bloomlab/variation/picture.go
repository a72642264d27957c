package variation

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"unicode"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
)

// A picture mail shows text as a picture. The letters are not real ones: each has its own
// pattern of 5 by 7 points, which produces the features of the picture.
const (
	glyphWidth  = 5
	glyphHeight = 7
	pointSize   = 2 // pixels
	columns     = 40
	rows        = 22
	border      = 16
)

func newCanvas(width, height int) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = 255
	}
	return img
}

// paint writes the text in lines, with a headline in larger letters.
func paint(text string) *image.Gray {
	cell := pointSize * (glyphWidth + 1)
	line := pointSize * (glyphHeight + 3)
	img := newCanvas(2*border+columns*cell, 2*border+(rows+3)*line)
	lines := strings.Split(wrap(strings.Join(message.WordsOf(text), " "), columns), "\n")
	y := border
	for i, l := range lines[:min(rows, len(lines))] {
		scale := pointSize
		if i == 0 {
			scale = 2 * pointSize
		}
		x := border
		for _, r := range l {
			drawGlyph(img, x, y, scale, r)
			x += scale * (glyphWidth + 1)
		}
		y += scale * (glyphHeight + 3)
	}
	return img
}

func drawGlyph(img *image.Gray, x, y, scale int, r rune) {
	if unicode.IsSpace(r) {
		return
	}
	// The first half of SplitMix64's finaliser makes a pattern of a letter's number.
	h := uint64(r) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h ^= h >> 27
	for i := range glyphWidth * glyphHeight {
		if h>>i&1 == 0 {
			continue
		}
		for k := range scale * scale {
			img.SetGray(x+i%glyphWidth*scale+k%scale, y+i/glyphWidth*scale+k/scale, color.Gray{Y: 20})
		}
	}
}

// asPicture makes the message a picture of its text.
func asPicture(d *draw, m *message.Mail) {
	var out bytes.Buffer
	_ = png.Encode(&out, paint(m.Text())) // writing to a buffer cannot fail
	m.Root = pictureMail(d, message.FilePart("image/png", d.token(8)+".png", out.Bytes()))
}

func pictureMail(d *draw, picture *message.Part) *message.Part {
	page := message.TextPart("text/html", "<html><body><p>"+d.token(5)+"</p><img src=\"cid:"+d.token(8)+"\"></body></html>\n")
	return &message.Part{Type: "multipart/related", Params: map[string]string{}, Children: []*message.Part{page, picture}}
}

// repaint changes the picture of a picture mail.
func repaint(change func(d *draw, img *image.Gray) (kind string, body []byte)) func(*draw, *message.Mail) bool {
	return func(d *draw, m *message.Mail) bool {
		i := slices.IndexFunc(m.Root.Children, func(p *message.Part) bool { return p.Type == "image/png" })
		if i < 0 {
			return false
		}
		decoded, err := png.Decode(bytes.NewReader(m.Root.Children[i].Body))
		img, ok := decoded.(*image.Gray)
		if err != nil || !ok {
			return false
		}
		kind, body := change(d, img)
		m.Root = pictureMail(d, message.FilePart(kind, d.token(8), body))
		return true
	}
}

func asJPEG(d *draw, img *image.Gray) (string, []byte) {
	var out bytes.Buffer
	_ = jpeg.Encode(&out, img, &jpeg.Options{Quality: 40 + d.IntN(51)}) // writing to a buffer cannot fail
	return "image/jpeg", out.Bytes()
}

func noisy(d *draw, img *image.Gray) (string, []byte) {
	for i, v := range img.Pix {
		img.Pix[i] = byte(min(255, max(0, float64(v)+8*d.NormFloat64())))
	}
	for range len(img.Pix) / 200 {
		img.Pix[d.IntN(len(img.Pix))] = byte(d.Uint32())
	}
	return asPNG(img)
}

// scaled takes, for each pixel, the mean of the four around its place.
func scaled(d *draw, img *image.Gray) (string, []byte) {
	factor := 0.7 + 0.7*d.Float64()
	width, height := int(factor*float64(img.Rect.Max.X)), int(factor*float64(img.Rect.Max.Y))
	next := newCanvas(width, height)
	for y := range height {
		for x := range width {
			next.SetGray(x, y, color.Gray{Y: bilinear(img, float64(x)/factor, float64(y)/factor)})
		}
	}
	return asPNG(next)
}

func bilinear(img *image.Gray, x, y float64) byte {
	x0, y0 := min(int(x), img.Rect.Max.X-2), min(int(y), img.Rect.Max.Y-2)
	fx, fy := min(1, x-float64(x0)), min(1, y-float64(y0))
	at := func(x, y int) float64 { return float64(img.GrayAt(x, y).Y) }
	top := at(x0, y0)*(1-fx) + at(x0+1, y0)*fx
	bottom := at(x0, y0+1)*(1-fx) + at(x0+1, y0+1)*fx
	return byte(top*(1-fy) + bottom*fy)
}

func asPNG(img *image.Gray) (string, []byte) {
	var out bytes.Buffer
	_ = png.Encode(&out, img) // writing to a buffer cannot fail
	return "image/png", out.Bytes()
}
