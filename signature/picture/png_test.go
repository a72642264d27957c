package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/png"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// rechunked is a PNG whose pixels are in chunks of a size, one of which is empty.
func rechunked(content []byte, size int) []byte {
	f := readPNG(content)
	out := bytes.Clone(f.head)
	for i := 0; ; i += size {
		data := f.packed[min(i, len(f.packed)):min(i+size, len(f.packed))]
		out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
		out = append(append(out, "IDAT"...), data...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[len(out)-4-len(data):]))
		if len(data) == 0 {
			return append(out, content[len(content)-12:]...)
		}
	}
}

// An image is what png.Decode makes of it, however large and however cut its data is.
func TestPNG(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, m := range []draw.Image{
		image.NewGray(image.Rect(0, 0, 70, 40)), image.NewNRGBA(image.Rect(0, 0, 7, 9)), image.NewNRGBA64(image.Rect(0, 0, 200, 150)),
		image.NewPaletted(image.Rect(0, 0, 300, 200), palette.WebSafe), image.NewGray(image.Rect(0, 0, maxStored-1, 2)),
	} {
		for i := range m.Bounds().Dx() * m.Bounds().Dy() {
			m.Set(i%m.Bounds().Dx(), i/m.Bounds().Dx(), color.NRGBA{uint8(r.Uint32()), uint8(i), 3, 200})
		}
		var b bytes.Buffer
		testenv.Check(t, png.Encode(&b, m))
		want, err := png.Decode(bytes.NewReader(b.Bytes()))
		testenv.Check(t, err)
		for _, size := range []int{1 << 20, 1000, 1} {
			got, err := readPNG(rechunked(b.Bytes(), size)).decode()
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%T of %v in chunks of %d: another image, error %v", m, m.Bounds(), size, err)
			}
		}
	}
}

// An animated PNG is not read: readers may see none of its IDAT, which may be a picture of another sender.
func TestAnimatedPNG(t *testing.T) {
	content := asPNG(t, noisy(canvas(200, 200, color.White), rand.New(rand.NewPCG(1, 1)), 40))
	if _, _, err := decode(content, 1<<20); err != nil {
		t.Fatal(err)
	}
	chunk := func(name string, data ...byte) []byte {
		body := append([]byte(name), data...)
		return binary.BigEndian.AppendUint32(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), body...), crc32.ChecksumIEEE(body))
	}
	control := chunk("acTL", 0, 0, 0, 1, 0, 0, 0, 0)
	frame := chunk("fcTL", 0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0)
	faulty := bytes.Clone(control)
	faulty[len(faulty)-1]++
	for name, before := range map[string][]byte{"first frame behind IDAT": control, "first frame is IDAT": append(bytes.Clone(control), frame...), "wrong checksum": faulty} {
		animated := append(append(bytes.Clone(content[:lengthOfHead]), before...), content[lengthOfHead:]...)
		if _, _, err := decode(animated, 1<<20); err != errFormat {
			t.Errorf("%s: error %v, want %v", name, err, errFormat)
		}
	}
}

// An image with a fault is the one that png.Decode sees, where that sees one.
func TestFaultyPNG(t *testing.T) {
	whole := rechunked(asPNG(t, noisy(canvas(12, 9, color.White), rand.New(rand.NewPCG(1, 1)), 40)), 50)
	check := func(content []byte, what string, at int) {
		want, wantErr := png.Decode(bytes.NewReader(content))
		f := readPNG(content)
		if _, err := f.config(); err != nil || wantErr != nil {
			if wantErr == nil {
				t.Errorf("%s at %d of %d: %v", what, at, len(whole), err)
			}
			return
		}
		if got, err := f.decode(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s at %d of %d: %v", what, at, len(whole), err)
		}
	}
	for at := range whole {
		check(whole[:at], "cut", at)
		for bit := range 8 {
			faulty := bytes.Clone(whole)
			faulty[at] ^= 1 << bit
			check(faulty, "changed", at)
		}
	}
}
