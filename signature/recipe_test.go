package signature

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	stdimage "image"
	"image/color/palette"
	"image/gif"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
)

// A recipe describes a message in a few lines, of which each says how often a piece
// is repeated, and then the piece as a quoted string of Go: in it, "{i}" becomes the
// number of the repetition. A line of a word and numbers is an archive or image from
// the list files, in base64.
type recipe []ingredient

type ingredient struct {
	count   int
	piece   string
	file    string // name in files, instead of a piece
	numbers []int
}

func readRecipe(text string) (r recipe, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		first, rest, _ := strings.Cut(line, " ")
		if count, err := strconv.Atoi(first); err == nil {
			piece, err := strconv.Unquote(rest)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			r = append(r, ingredient{count: count, piece: piece})
			continue
		}
		one := ingredient{count: 1, file: first}
		if files[first] == nil {
			return nil, fmt.Errorf("%s: no such file", line)
		}
		for field := range strings.FieldsSeq(rest) {
			n, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			one.numbers = append(one.numbers, n)
		}
		r = append(r, one)
	}
	return r, nil
}

func (r recipe) String() string {
	var b strings.Builder
	for _, one := range r {
		if one.file != "" {
			fmt.Fprintln(&b, one.file, strings.Trim(fmt.Sprint(one.numbers), "[]"))
			continue
		}
		fmt.Fprintf(&b, "%d %+q\n", one.count, one.piece)
	}
	return b.String()
}

// message is the message that r describes, with percent of all repetitions that are
// 1,000 or more.
func (r recipe) message(percent int) []byte {
	var b bytes.Buffer
	for _, one := range r {
		if one.file != "" {
			b.WriteString(encoded(string(files[one.file](one.numbers))) + "\n")
			continue
		}
		count := one.count
		if count >= 1000 {
			count = count * percent / 100
		}
		if !strings.Contains(one.piece, "{i}") {
			b.WriteString(strings.Repeat(one.piece, count))
			continue
		}
		for i := range count {
			b.WriteString(strings.ReplaceAll(one.piece, "{i}", strconv.Itoa(i)))
		}
	}
	return b.Bytes()
}

// hostileRecipes are those in testdata/hostile, by name.
func hostileRecipes(tb testing.TB) map[string]recipe {
	tb.Helper()
	names, err := filepath.Glob("testdata/hostile/*.txt")
	if err != nil || len(names) == 0 {
		tb.Fatalf("no recipes: %v", err)
	}
	recipes := make(map[string]recipe)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		r, err := readRecipe(string(text))
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		recipes[strings.TrimSuffix(filepath.Base(name), ".txt")] = r
	}
	return recipes
}

// files make what a recipe of text cannot say. Numbers out of range, also missing
// ones, become some that are in it.
var files = map[string]func(numbers []int) []byte{
	"zip": hostileZip, "gzip": hostileGzip, "pdf": hostilePDF, "png": hostilePNG, "gif": hostileGIF, "jpeg": hostileJPEG, "bmp": hostileBMP,
}

// number is numbers[i], brought into the range from least to most.
func number(numbers []int, i, least, most int) int {
	n := least
	if i < len(numbers) {
		n = numbers[i]
	}
	return least + max(0, n-least)%(most-least+1)
}

// blocks is a stream of DEFLATE (RFC 1951) of n blocks, which hold nothing but, in
// the last kind, text.
func blocks(kind, n int) []byte {
	if kind == 3 {
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, 9)
		w.Write(bytes.Repeat([]byte("ab"), n))
		w.Close()
		return b.Bytes()
	}
	block := []string{storedBlock, fixedBlocks, ownBlocks()}[kind]
	return append(bytes.Repeat([]byte(block), n), "\x03\x00"...)
}

const (
	storedBlock = "\x00\x00\x00\xff\xff"
	fixedBlocks = "\x02\x08\x20\x80\x00" // four, of ten bits each
)

// ownBlocks is four blocks with codes of their own, which have nothing to say but that
// the block ends: 90 bits each.
func ownBlocks() string {
	var out [45]byte
	at := 0
	put := func(value, bits int) {
		for i := range bits {
			out[at/8] |= byte(value>>i&1) << (at % 8)
			at++
		}
	}
	for range 4 {
		put(0b100, 3)
		put(0, 10)
		put(14, 4)
		for i := range 18 {
			put(map[int]int{2: 1, 17: 1}[i], 3) // of the lengths 18 and 1
		}
		put(1|127<<1, 8) // 138 zeros
		put(1|107<<1, 8) // 118 zeros
		put(0, 3)        // two lengths of one, and the end of the block
	}
	return string(out[:])
}

// hostileZip has members that share their data: kind of its blocks, number of these,
// number of members.
func hostileZip(numbers []int) []byte {
	data := blocks(number(numbers, 0, 0, 3), number(numbers, 1, 1, 200_000))
	members := number(numbers, 2, 1, 2*maxMembers)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, _ := w.CreateRaw(&zip.FileHeader{Name: "a", Method: zip.Deflate, CompressedSize64: uint64(len(data)), UncompressedSize64: 0})
	f.Write(data)
	w.Close()
	one := b.Bytes()
	at := bytes.LastIndex(one, []byte("PK\x01\x02"))
	end := bytes.LastIndex(one, []byte("PK\x05\x06"))
	entry := one[at:end]
	out := append(bytes.Clone(one[:at]), bytes.Repeat(entry, members)...)
	tail := bytes.Clone(one[end:])
	binary.LittleEndian.PutUint16(tail[8:], uint16(members))
	binary.LittleEndian.PutUint16(tail[10:], uint16(members))
	binary.LittleEndian.PutUint32(tail[12:], uint32(members*len(entry)))
	return append(out, tail...)
}

// hostileGzip has many members: kind of the blocks, number in each, number of members.
func hostileGzip(numbers []int) []byte {
	data := blocks(number(numbers, 0, 0, 3), number(numbers, 1, 1, 200_000))
	if number(numbers, 0, 0, 3) == 3 {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(make([]byte, number(numbers, 1, 1, 200_000)))
		w.Close()
		return bytes.Repeat(b.Bytes(), number(numbers, 2, 1, 20_000))
	}
	one := append([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"), data...)
	one = append(one, make([]byte, 8)...)
	return bytes.Repeat(one, min(number(numbers, 2, 1, 20_000), 1+4<<20/len(one)))
}

// hostilePDF has streams: kind of the blocks, number in each, number of streams.
func hostilePDF(numbers []int) []byte {
	data := append([]byte("x\x9c"), blocks(number(numbers, 0, 0, 3), number(numbers, 1, 1, 200_000))...)
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Close()
	one := fmt.Sprintf("1 0 obj<</Filter/FlateDecode>>stream\n%s\x00\x00\x00\x01endstream endobj\n", data)
	return append([]byte("%PDF-1.4\n"), bytes.Repeat([]byte(one), min(number(numbers, 2, 1, maxMembers), 1+4<<20/len(one)))...)
}

// hostilePNG: width, height, colour type, depth, interlaced, filter, and how much of
// the data is there, in percent.
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

// noise is a picture that no encoder makes small.
func noise(width, height int) *stdimage.Paletted {
	m := stdimage.NewPaletted(stdimage.Rect(0, 0, width, height), palette.Plan9)
	for i := range m.Pix {
		m.Pix[i] = byte(scramble(uint64(i)))
	}
	return m
}

func hostileGIF(numbers []int) []byte {
	m := noise(number(numbers, 0, 100, 1500), number(numbers, 1, 100, 1500))
	if number(numbers, 2, 0, 1) == 0 {
		clear(m.Pix)
	}
	var b bytes.Buffer
	if err := gif.Encode(&b, m, nil); err != nil {
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
// progressive), their kind, and their length in bytes. All codes are one bit, so that
// a byte of zeros says as much as can be.
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
	if scans == 0 {
		segment(0xc0, frame...)
		scan(0xff, 0, 63, 0)
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
