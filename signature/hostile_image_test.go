package signature_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	stdimage "image"
	"image/color/palette"
	"image/gif"
	"image/png"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/image/bmp"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/archive/archivetest"
	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/picture"
)

// hostilePNG: width, height, colour type, depth, interlaced, filter, share of the data in
// percent; kind and number of blocks before it.
func hostilePNG(numbers []int) []byte {
	width, height := number(numbers, 0, 100, 4000), number(numbers, 1, 100, 4000)
	kind := []int{0, 2, 3, 4, 6}[number(numbers, 2, 0, 4)]
	depth := 8 << number(numbers, 3, 0, 1)
	if kind == 3 {
		depth = 8
	}
	channels := map[int]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
	head := binary.BigEndian.AppendUint32(nil, uint32(width))
	head = binary.BigEndian.AppendUint32(head, uint32(height))
	head = append(head, byte(depth), byte(kind), 0, 0, byte(number(numbers, 4, 0, 1)))
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	line := make([]byte, 1+width*channels*depth/8)
	line[0] = byte(number(numbers, 5, 0, 4))
	for i := range line[1:] {
		line[i+1] = byte(i * i >> 3)
	}
	if head[12] == 1 { // its passes have shorter lines
		clear(line)
	}
	for range height * number(numbers, 6, 1, 200) / 100 {
		w.Write(line)
	}
	w.Close()
	if data := packed.Bytes(); number(numbers, 8, 0, 200_000) > 0 && number(numbers, 7, 0, archivetest.LastBlocks) != archivetest.TextBlocks {
		before := archivetest.Blocks(number(numbers, 7, 0, archivetest.LastBlocks), number(numbers, 8, 0, 200_000))
		packed = *bytes.NewBuffer(slices.Concat(data[:2], before[:len(before)-2], data[2:]))
	}
	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(name string, data []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
		out = append(append(out, name...), data...)
		out = binary.BigEndian.AppendUint32(out, crc32.Update(crc32.ChecksumIEEE([]byte(name)), crc32.IEEETable, data))
	}
	chunk("IHDR", head)
	if kind == 3 {
		chunk("PLTE", make([]byte, 768))
	}
	chunk("IDAT", packed.Bytes())
	chunk("IEND", nil)
	return append(out, make([]byte, minPicture)...)
}

// noise returns a picture that no encoder makes small.
func noise(width, height int) *stdimage.Paletted {
	m := stdimage.NewPaletted(stdimage.Rect(0, 0, width, height), palette.Plan9)
	for i := range m.Pix {
		m.Pix[i] = byte(digest.Mix(uint64(i)))
	}
	return m
}

// hostileGIF: width, height, 0 for a plain image, number of frames that leave parts of the others.
func hostileGIF(numbers []int) []byte {
	m := noise(number(numbers, 0, 100, 1500), number(numbers, 1, 100, 1500))
	if number(numbers, 2, 0, 1) == 0 {
		clear(m.Pix)
	}
	var b bytes.Buffer
	frames := gif.GIF{Image: []*stdimage.Paletted{m}, Delay: []int{0}}
	for i := range number(numbers, 3, 0, 10_000) {
		part := *m
		part.Rect.Max.X -= 1 + i%2
		if i >= 20 {
			part = *noise(1, 1)
		}
		frames.Image, frames.Delay = append(frames.Image, &part), append(frames.Delay, i)
	}
	if err := gif.EncodeAll(&b, &frames); err != nil {
		panic(err)
	}
	return append(b.Bytes(), make([]byte, minPicture)...)
}

func hostileBMP(numbers []int) []byte {
	var b bytes.Buffer
	if err := bmp.Encode(&b, noise(number(numbers, 0, 100, 1500), number(numbers, 1, 100, 1500))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// hostileJPEG: width, height, components, sampling, scans (0 for one that is not
// progressive), their kind, their length in bytes, and whether they are progressive (0)
// or all of all components (1). All codes are one bit, so that a byte of zeros has as
// many codes as possible.
func hostileJPEG(numbers []int) []byte {
	width, height := number(numbers, 0, 100, 4000), number(numbers, 1, 100, 4000)
	components := []int{1, 3, 4}[number(numbers, 2, 0, 2)]
	sampling := []byte{0x11, 0x21, 0x12, 0x22, 0x41, 0x42, 0x44}[number(numbers, 3, 0, 6)]
	scans, kind, length := number(numbers, 4, 0, 24), number(numbers, 5, 0, 3), number(numbers, 6, 1, 200_000)
	var b bytes.Buffer
	b.WriteString("\xff\xd8")
	segment := func(marker byte, data ...byte) {
		b.Write([]byte{0xff, marker, byte((len(data) + 2) >> 8), byte(len(data) + 2)})
		b.Write(data)
	}
	segment(0xee, []byte("Adobe\x00\x64\x00\x00\x00\x00\x00")...)
	segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...)
	frame := []byte{8, byte(height >> 8), byte(height), byte(width >> 8), byte(width), byte(components)}
	for i := range components {
		s := byte(0x11)
		if i == 0 || i == 3 {
			s = sampling
		}
		frame = append(frame, byte(i+1), s, 0)
	}
	symbol := []byte{0x00, 0xe0, 0x01, 0xf0}[kind] // of coefficients: end of block, of many blocks, one, sixteen zeros
	one := append([]byte{1}, make([]byte, 15)...)
	segment(0xc4, append(append([]byte{0x00}, one...), 0)...)
	segment(0xc4, append(append([]byte{0x10}, one...), symbol)...)
	scan := func(component, from, to, bits byte) {
		list := []byte{1, component + 1, 0}
		if component == 0xff {
			list = []byte{byte(components)}
			for i := range components {
				list = append(list, byte(i+1), 0)
			}
		}
		segment(0xda, append(list, from, to, bits)...)
		b.Write(make([]byte, length))
	}
	if scans == 0 || number(numbers, 7, 0, 1) == 1 {
		segment(0xc0, frame...)
		for range max(1, scans) {
			scan(0xff, 0, 63, 0)
		}
	} else {
		segment(0xc2, frame...)
		scan(0xff, 0, 0, 1)
		for i := range scans - 1 {
			scan(byte(i%components), 1, 63, []byte{1, 0x10}[min(1, i/components)])
		}
	}
	b.WriteString("\xff\xd9")
	return append(b.Bytes(), make([]byte, minPicture)...)
}

// The largest progressive JPEG that is decoded stays within the memory of a slot, which is
// 64 MiB, with three components and with four.
func TestMemoryOfJPEG(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for components := range 3 {
		err, taken := picture.ErrCost, uint64(0)
		for side := 2100; errors.Is(err, picture.ErrCost); side -= 10 {
			content := hostileJPEG([]int{side, side, components, 0, 1, 0, 35_000})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err = picture.Read(content, maxPixels)
			runtime.ReadMemStats(&after)
			taken = after.TotalAlloc - before.TotalAlloc
		}
		if taken < 1<<20 || taken > 64<<20 {
			t.Errorf("%d: decoding takes %d bytes (%v)", components, taken, err)
		}
	}
}

// hostileWebP: width, height, and length of the data, which is random after its head. All
// codes of VP8 (RFC 6386) are valid.
func hostileWebP(numbers []int) []byte {
	width, height := number(numbers, 0, 100, 4000), number(numbers, 1, 100, 4000)
	data := make([]byte, number(numbers, 2, minPicture, 4<<20))
	for i := range data {
		data[i] = byte(digest.Mix(uint64(i + number(numbers, 3, 0, 1000))))
	}
	first := min(number(numbers, 4, 100, 1<<19-1), len(data)-100) // length of the partition of modes
	copy(data, []byte{byte(first<<5) | 0x10, byte(first >> 3), byte(first >> 11), 0x9d, 0x01, 0x2a,
		byte(width), byte(width >> 8), byte(height), byte(height >> 8)})
	data[10] &= 0x1f // no segments
	out := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(12+len(data)))
	out = binary.LittleEndian.AppendUint32(append(out, "WEBPVP8 "...), uint32(len(data)))
	return append(out, data...)
}

// Small pictures before a known one leave it its place and the budget, however many pixels they have.
func TestLargestPictureIsRead(t *testing.T) {
	const start = "Content-Type: multipart/mixed; boundary=b\n\n"
	flat := func(side int) []byte {
		m := stdimage.NewGray(stdimage.Rect(0, 0, side, side))
		copy(m.Pix, archivetest.Random(uint64(side), minPicture))
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	known := imagePart("Content-ID: <k>\n", pageImage(t))
	decoys := imagePart("Content-ID: <j>\n", flat(1020))
	for i := range 4 {
		decoys += imagePart("Content-ID: <j"+string(rune('0'+i))+">\n", flat(300+int(i)))
	}
	reported := signature.Compute(signature.Parse([]byte(start + known + "--b--\n")))
	s := signature.Compute(signature.Parse([]byte(start + decoys + known + "--b--\n")))
	if found := matchesOf(reported, s); !slices.Contains(found, "image") {
		t.Errorf("pictures before a known one: found by %q, limits %q", found, s.Limits.Names())
	}
}
