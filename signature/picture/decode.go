package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/vp8"
)

const (
	// minSide and minArea are the smallest image, in pixels, that has a code.
	// Below are logos, icons, buttons, portraits and tracking pixels, which many
	// senders share, or which spam copies from the mail it imitates.
	minSide = 100
	minArea = 30_000
	// maxSide bounds a side, so that no area overflows.
	maxSide = 16 << 10
	// maxScans bounds the scans of a JPEG; encoders make about ten. Each can cost a
	// pass over the whole image for a dozen bytes.
	maxScans = 24
	// componentsOfPass is how many components of scans cost about as much as the
	// pixels themselves.
	componentsOfPass = 16
)

var (
	errFormat = errors.New("no image of a known format")
	errSize   = errors.New("image too small or too large")

	// ErrCost is what Read returns for an image that costs more than the budget, or
	// has more than 24 scans.
	ErrCost = errors.New("image costs too much")
)

// decode decodes an image if its cost is at most budget, and returns the cost; both in
// pixels. Of an animation, it decodes what is shown longest. The header is read first, as
// decoders take the memory that it asks for: what is too small, too large or over the budget
// costs nothing.
func decode(content []byte, budget int) (image.Image, int, error) {
	f, err := open(content)
	if err != nil {
		return nil, 0, err
	}
	if !isSized(f.width, f.height) {
		return nil, 0, errSize
	}
	if f.cost > budget {
		return nil, 0, ErrCost
	}
	m, err := f.decode()
	return m, f.cost, err
}

// file is an image whose header was read.
type file struct {
	width, height int
	cost          int // of decoding, in pixels
	decode        func() (image.Image, error)
}

// open reads the header of an image, and what it needs to know the cost.
func open(content []byte) (f file, err error) {
	var c image.Config
	switch {
	case bytes.HasPrefix(content, []byte("GIF8")):
		g := readGIF(content)
		return file{g.screen.Dx(), g.screen.Dy(), g.cost(), func() (image.Image, error) { return g.decode(), nil }}, nil
	case bytes.HasPrefix(content, []byte("\x89PNG")):
		p := readPNG(content)
		if p.isAnimated {
			return f, errFormat
		}
		c, err = p.config()
		f.decode = p.decode
	case bytes.HasPrefix(content, []byte("\xFF\xD8\xFF")):
		j := readJPEG(content)
		c, err = jpeg.DecodeConfig(bytes.NewReader(j.content))
		f.decode = func() (image.Image, error) { return jpeg.Decode(bytes.NewReader(j.content)) }
		f.width, f.height, f.cost = c.Width, c.Height, j.cost(c)
		return f, err
	case bytes.HasPrefix(content, []byte("BM")):
		c, err = bmp.DecodeConfig(bytes.NewReader(content))
		f.decode = func() (image.Image, error) { return bmp.Decode(withZeros(content)) }
	case bytes.HasPrefix(content, []byte("RIFF")):
		d := vp8Decoder(content)
		var h vp8.FrameHeader
		h, err = d.DecodeFrameHeader()
		c = image.Config{Width: h.Width, Height: h.Height}
		f.decode = func() (image.Image, error) { return d.DecodeFrame() }
	default:
		return f, errFormat
	}
	f.width, f.height, f.cost = c.Width, c.Height, c.Width*c.Height
	switch c.ColorModel {
	case color.Gray16Model, color.RGBA64Model, color.NRGBA64Model:
		f.cost *= 2
	}
	return f, err
}

func isSized(width, height int) bool {
	return min(width, height) >= minSide && max(width, height) <= maxSide && width*height >= minArea
}

// withZeros reads content, and zeros behind it: programs show images whose end is missing.
func withZeros(content []byte) io.Reader { return io.MultiReader(bytes.NewReader(content), zeros{}) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// vp8Decoder returns a decoder of the lossy image in a WebP file, without its
// transparency; an empty one where there is none. A file's own header may tell
// another size than the image in it, so that only the latter is believed.
// Lossless WebP is not read: a few bytes of it can ask for 180 MB of tables.
func vp8Decoder(content []byte) *vp8.Decoder {
	d := vp8.NewDecoder()
	var chunk []byte
	if len(content) > 12 && string(content[8:12]) == "WEBP" {
		chunk = riffChunk(content[12:], "VP8 ")
	}
	d.Init(bytes.NewReader(chunk), len(chunk))
	return d
}

// riffChunk returns the first chunk of that name.
func riffChunk(content []byte, name string) []byte {
	for len(content) >= 8 {
		size := int(binary.LittleEndian.Uint32(content[4:]))
		if size > len(content)-8 {
			return nil
		}
		if string(content[:4]) == name {
			return content[8 : 8+size]
		}
		content = content[min(len(content), 8+size+size&1):]
	}
	return nil
}
