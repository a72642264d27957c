package picture

import (
	"bytes"
	"encoding/binary"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"strings"

	"github.com/klauspost/compress/zlib"
)

// A PNG is a signature of 8 bytes and chunks: the length of the data, in four bytes, the
// name, the data, and a checksum of name and data. The first one, IHDR, has 13 bytes of data.
const (
	lengthOfSignature = 8
	aroundChunk       = 12
	lengthOfHead      = lengthOfSignature + aroundChunk + 13
)

// pngFile is what image/png gets of a PNG: the chunks that it needs. It refuses files that programs
// show, with a fault in a chunk that they ignore, with other than all pixels, or without an end.
type pngFile struct {
	head   []byte // signature, IHDR, colours, transparency
	packed []byte // the data of the chunks IDAT, which follow each other

	isAnimated bool // programs show other chunks, or these only for a moment
}

// readPNG reads the chunks up to the pixels.
func readPNG(content []byte) (f pngFile) {
	if len(content) < lengthOfHead {
		return f
	}
	f.head = bytes.Clone(content[:lengthOfHead])
	kind, hasPalette, hasTransparency := content[25], false, false
	for rest := content[lengthOfHead:]; len(rest) > aroundChunk; {
		size := int(binary.BigEndian.Uint32(rest))
		isWhole := size <= len(rest)-aroundChunk
		size = min(size, len(rest)-8)
		name, data := string(rest[4:8]), rest[8:8+size]
		isSound := isWhole && crc32.ChecksumIEEE(rest[4:8+size]) == binary.BigEndian.Uint32(rest[8+size:])
		switch {
		case name == "IDAT":
			if f.packed == nil {
				f.packed = make([]byte, 0, len(rest))
			}
			f.packed = append(f.packed, data...)
		case f.packed != nil:
			return f
		case name == "acTL": // even if it is faulty: some program may overlook that
			f.isAnimated = true
		case isSound && name == "PLTE" && kind == 3 && !hasPalette:
			hasPalette = true
			f.head = append(f.head, rest[:aroundChunk+size]...)
		case isSound && name == "tRNS" && !hasTransparency && (kind == 0 && size == 2 || kind == 2 && size == 6 || hasPalette && size <= 256):
			hasTransparency = true
			f.head = append(f.head, rest[:aroundChunk+size]...)
		}
		rest = rest[min(len(rest), aroundChunk+size):]
	}
	return f
}

// config returns the size, and how colours are kept.
func (f pngFile) config() (image.Config, error) {
	return png.DecodeConfig(io.MultiReader(bytes.NewReader(f.head), strings.NewReader("\x00\x00\x00\x00IDAT")))
}

// decode inflates the pixels itself, for png.Decode, which gets them in blocks that
// are stored: a block of 32 bytes can make compress/flate take 128 tables. config has read the head.
func (f pngFile) decode() (image.Image, error) {
	inflater, err := zlib.NewReader(bytes.NewReader(f.packed))
	if err != nil {
		return nil, err
	}
	defer inflater.Close()
	stored := &storer{inflater: inflater, left: lengthOfPixels(f.head), sum: adler32.New(), head: []byte("\x78\x01"), buffer: make([]byte, maxStored+64)}
	return png.Decode(io.MultiReader(bytes.NewReader(f.head), stored, strings.NewReader("\x00\x00\x00\x00IEND\xae\x42\x60\x82")))
}

// lengthOfPixels returns how many bytes the pixels have, with the byte before each line that names its filter.
func lengthOfPixels(head []byte) (length int) {
	width, height := int(binary.BigEndian.Uint32(head[16:])), int(binary.BigEndian.Uint32(head[20:]))
	bits := int(head[24]) * []int{1, 1, 3, 1, 2, 1, 4}[min(6, head[25])]
	passes := [][4]int{{0, 0, 1, 1}} // first column and line, steps
	if head[28] == 1 {
		passes = [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
	}
	for _, p := range passes {
		columns, lines := (width-p[0]+p[2]-1)/p[2], (height-p[1]+p[3]-1)/p[3]
		if columns > 0 {
			length += lines * (1 + (columns*bits+7)/8)
		}
	}
	return length
}

// maxStored bounds what a stored block holds, in bytes; beside that, its chunk has at
// most 64.
const maxStored = 32 << 10

// storer reads as chunks IDAT, each with one stored block (RFC 1951 section 3.2.4) of
// what the inflater gives.
type storer struct {
	inflater io.Reader
	left     int         // bytes of pixels; after an error of the inflater, they are zero
	sum      hash.Hash32 // Adler-32 of all blocks
	head     []byte      // of zlib, before the first block
	buffer   []byte
	chunk    []byte // what has not been read of the current one
}

func (s *storer) Read(p []byte) (int, error) {
	if len(s.chunk) == 0 && s.left == 0 {
		return 0, io.EOF
	}
	if len(s.chunk) == 0 {
		s.next()
	}
	n := copy(p, s.chunk)
	s.chunk = s.chunk[n:]
	return n, nil
}

// next makes the next chunk.
func (s *storer) next() {
	out := append(append(s.buffer[:0], "\x00\x00\x00\x00IDAT"...), s.head...)
	s.head = nil
	data := s.buffer[len(out)+5:][:min(maxStored, s.left)]
	got, _ := io.ReadFull(s.inflater, data)
	clear(data[got:])
	n, final := len(data), byte(0)
	if s.left -= n; s.left == 0 {
		final = 1
	}
	out = append(out, final, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
	out = out[:len(out)+n]
	s.sum.Write(data)
	if final == 1 {
		out = s.sum.Sum(out)
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-8))
	s.chunk = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}
