package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"math/rand/v2"
	"runtime"
	"testing"

	"golang.org/x/image/bmp"
)

// plenty is a budget that no image of these tests spends.
const plenty = 1 << 30

// bomb is the beginning of an image that says how large it is.
func bomb(magic string, width, height uint32) []byte {
	var b bytes.Buffer
	switch magic {
	case "PNG":
		header := []byte("IHDR")
		header = binary.BigEndian.AppendUint32(header, width)
		header = binary.BigEndian.AppendUint32(header, height)
		header = append(header, 16, 6, 0, 0, 0)
		b.WriteString("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d")
		b.Write(binary.BigEndian.AppendUint32(header, crc32.ChecksumIEEE(header)))
		b.WriteString("\x00\x00\x00\x04IDAT")
	case "GIF":
		b.WriteString("GIF89a")
		b.Write([]byte{byte(width), byte(width >> 8), byte(height), byte(height >> 8), 0, 0, 0, ','})
		b.Write([]byte{0, 0, 0, 0, byte(width), byte(width >> 8), byte(height), byte(height >> 8), 0, 2, 1, 0, 0})
	case "JPEG":
		b.WriteString("\xFF\xD8\xFF\xC2\x00\x0B\x08")
		b.Write([]byte{byte(height >> 8), byte(height), byte(width >> 8), byte(width), 1, 1, 0x44, 0, 0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0})
	case "BMP":
		b.WriteString("BM")
		fields := []uint32{0, 0, 54, 40, width, height, 1 | 32<<16, 0, 0, 0, 0, 0, 0}
		for _, f := range fields {
			b.Write(binary.LittleEndian.AppendUint32(nil, f))
		}
	case "WebP":
		b.WriteString("RIFF\xFF\x00\x00\x00WEBPVP8 \x14\x00\x00\x00\x10\x10\x00\x9d\x01\x2a")
		b.Write([]byte{byte(width), byte(width >> 8), byte(height), byte(height >> 8)})
		b.Write(make([]byte, 20))
	}
	return b.Bytes()
}

// What a header promises is not believed: no memory is taken for it.
func TestBombs(t *testing.T) {
	for _, magic := range []string{"PNG", "GIF", "JPEG", "BMP", "WebP"} {
		content := bomb(magic, 16_000, 16_000)
		f, err := open(content)
		if err != nil || f.width != 16_000 || f.height != 16_000 {
			t.Errorf("%s: header tells %d by %d, %v", magic, f.width, f.height, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, cost, err := Read(content, 4<<20)
		runtime.ReadMemStats(&after)
		if err == nil || cost != 0 {
			t.Errorf("%s: cost %d, error %v", magic, cost, err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<10 {
			t.Errorf("%s: %d bytes taken", magic, taken)
		}
	}
}

// Scans without data, of four bytes each, take no memory of their own.
func TestManyScans(t *testing.T) {
	content := append([]byte("\xff\xd8\xff"), bytes.Repeat([]byte("\xff\xda\x00\x02"), 16<<10)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := Read(content, plenty)
	runtime.ReadMemStats(&after)
	if taken := int(after.TotalAlloc - before.TotalAlloc); err == nil || taken > 2*len(content) {
		t.Errorf("%d bytes taken for %d, error %v", taken, len(content), err)
	}
}

// A progressive JPEG can make a decoder go over the image for each dozen bytes.
func TestScansBounded(t *testing.T) {
	page := canvas(400, 300, color.White)
	content := asJPEG(t, noisy(page, rand.New(rand.NewPCG(1, 1)), 40), 60)
	if _, cost, err := decode(content, plenty); err != nil || cost != 400*300*19/16 {
		t.Errorf("one scan: cost %d, error %v", cost, err)
	}
	comment := append([]byte("\xFF\xD8\xFF\xFE\x00\xFF"), bytes.Repeat([]byte("\xFF\xDA\x00"), 85)[2:]...)
	if _, cost, err := decode(append(comment, content[2:]...), plenty); err != nil || cost != 400*300*19/16 {
		t.Errorf("a comment that looks like scans: cost %d, error %v", cost, err)
	}
	content = append(content[:len(content)-2], bytes.Repeat([]byte("\xFF\xDA\x00\x08\x01\x01\x00\x00\x3F\x00"), maxScans)...)
	if _, cost, err := decode(content, plenty); err != ErrCost || cost != 0 {
		t.Errorf("%d scans: cost %d, error %v", maxScans+1, cost, err)
	}
}

func TestBudget(t *testing.T) {
	content := asPNG(t, canvas(300, 200, color.White))
	for budget, want := range map[int]error{60_000: nil, 59_999: ErrCost, 0: ErrCost} {
		if _, _, err := decode(content, budget); err != want {
			t.Errorf("budget %d: %v, want %v", budget, err, want)
		}
	}
}

// Each way in which decoders keep pixels gives the same luminances.
func TestLuminances(t *testing.T) {
	for _, tt := range []struct {
		c    color.Color
		want uint8
	}{
		{color.White, 255}, {color.Black, 0}, {color.Transparent, 255}, {color.RGBA{255, 0, 0, 255}, 76},
		{color.NRGBA{0, 0, 0, 128}, 127}, {color.RGBA{0, 255, 0, 255}, 149},
	} {
		for _, m := range []interface {
			image.Image
			Set(x, y int, c color.Color)
		}{
			image.NewRGBA(image.Rect(5, 7, 6, 8)), image.NewNRGBA(image.Rect(5, 7, 6, 8)),
			image.NewRGBA64(image.Rect(5, 7, 6, 8)), image.NewNRGBA64(image.Rect(5, 7, 6, 8)),
			image.NewPaletted(image.Rect(5, 7, 6, 8), color.Palette{color.Gray{77}, tt.c}),
		} {
			m.Set(5, 7, tt.c)
			line := make([]uint8, 1)
			newRows(m).read(line, 0)
			if d := int(line[0]) - int(tt.want); d < -1 || d > 1 {
				t.Errorf("%T of %v: %d, want %d", m, tt.c, line[0], tt.want)
			}
		}
	}
}

func TestShrinkKeepsTheMean(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 301, 199))
	r := rand.New(rand.NewPCG(1, 1))
	want := 0.0
	for i := range m.Pix {
		m.Pix[i] = uint8(r.IntN(256))
		want += float64(m.Pix[i]) / float64(len(m.Pix))
	}
	got := 0.0
	for _, row := range shrink(m) {
		for _, v := range row {
			got += v / (side * side)
		}
	}
	if d := got - want; d < -1e-6 || d > 1e-6 {
		t.Errorf("mean %v, want %v", got, want)
	}
}

// tinyWebP is one pixel in lossy WebP.
const tinyWebP = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"

func FuzzRead(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	page := noisy(canvas(180, 170, color.White), r, 60)
	for _, content := range [][]byte{asPNG(f, page), asJPEG(f, page, 30), asGIF(f, page)} {
		f.Add(content)
	}
	f.Add(asAnimation(f, page, r, false))
	f.Add(asAnimation(f, page, r, true))
	var b bytes.Buffer
	if err := bmp.Encode(&b, page); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	tiny, _ := base64.StdEncoding.DecodeString(tinyWebP)
	f.Add(tiny)
	for _, magic := range []string{"PNG", "GIF", "JPEG", "BMP", "WebP"} {
		f.Add(bomb(magic, 200, 200))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		im, cost, err := Read(content, 1<<18)
		if cost > 1<<18 || (err == nil) != (len(im.Codes) == len(frames)) {
			t.Errorf("cost %d, %d codes, error %v", cost, len(im.Codes), err)
		}
	})
}
