package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"

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

// decode decodes an image, or the first frame of an animation, if its cost is at
// most budget, and returns the cost; both in pixels. The header is read first, as
// decoders take the memory that it asks for: what is too small, too large or over
// the budget costs nothing.
func decode(content []byte, budget int) (image.Image, int, error) {
	c, format, err := readHeader(content)
	if err != nil {
		return nil, 0, err
	}
	if !isSized(c.Width, c.Height) {
		return nil, 0, errSize
	}
	cost := costOf(c, format, content)
	if cost > budget {
		return nil, 0, ErrCost
	}
	m, err := decodeAs(format, content)
	if err == nil && !isSized(m.Bounds().Dx(), m.Bounds().Dy()) { // a frame of an animation
		err = errSize
	}
	return m, cost, err
}

// costOf is what the pixels of an image cost.
func costOf(c image.Config, format string, content []byte) int {
	cost := c.Width * c.Height
	switch c.ColorModel {
	case color.Gray16Model, color.RGBA64Model, color.NRGBA64Model:
		return 2 * cost
	}
	if format != "jpeg" {
		return cost
	}
	if c.ColorModel == color.CMYKModel { // decoding a progressive one takes 24 bytes a pixel
		cost += cost / 2
	}
	// The start of a scan never stands inside the data of another (ITU-T T.81 section
	// B.1.1.5): counted everywhere, there are never too few.
	scans := bytes.SplitN(content, []byte("\xFF\xDA"), maxScans+2)[1:]
	if len(scans) > maxScans {
		return math.MaxInt
	}
	components := 0
	for _, scan := range scans {
		if len(scan) > 2 { // behind the length
			components += min(4, int(scan[2]))
		}
	}
	return cost + cost*components/componentsOfPass
}

func isSized(width, height int) bool {
	return min(width, height) >= minSide && max(width, height) <= maxSide && width*height >= minArea
}

func readHeader(content []byte) (c image.Config, format string, err error) {
	r := bytes.NewReader(content)
	switch {
	case bytes.HasPrefix(content, []byte("GIF8")):
		c, err = gif.DecodeConfig(r)
		return c, "gif", err
	case bytes.HasPrefix(content, []byte("\x89PNG")):
		c, err = png.DecodeConfig(r)
		return c, "png", err
	case bytes.HasPrefix(content, []byte("\xFF\xD8\xFF")):
		c, err = jpeg.DecodeConfig(r)
		return c, "jpeg", err
	case bytes.HasPrefix(content, []byte("BM")):
		c, err = bmp.DecodeConfig(r)
		return c, "bmp", err
	case bytes.HasPrefix(content, []byte("RIFF")):
		h, err := vp8Decoder(content).DecodeFrameHeader()
		return image.Config{Width: h.Width, Height: h.Height}, "webp", err
	}
	return c, "", errFormat
}

func decodeAs(format string, content []byte) (image.Image, error) {
	r := bytes.NewReader(content)
	switch format {
	case "gif":
		return gif.Decode(r)
	case "png":
		return decodePNG(content)
	case "jpeg":
		return jpeg.Decode(r)
	case "bmp":
		return bmp.Decode(r)
	}
	d := vp8Decoder(content)
	if _, err := d.DecodeFrameHeader(); err != nil {
		return nil, err
	}
	return d.DecodeFrame()
}

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
