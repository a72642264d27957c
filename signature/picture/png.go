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

	"github.com/klauspost/compress/zlib"
)

// A PNG is a signature of 8 bytes and chunks: the length of the data, in four bytes, the
// name, the data, and a checksum of name and data.
const (
	lengthOfSignature = 8
	aroundChunk       = 12
)

// decodePNG inflates the pixels itself, for png.Decode, which gets them in blocks that
// are stored: a block of 32 bytes can make compress/flate take 128 tables.
func decodePNG(content []byte) (image.Image, error) {
	start, end, packed := pixelData(content)
	inflater, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	defer inflater.Close()
	stored := &storer{inflater: inflater, sum: adler32.New(), head: []byte("\x78\x01"), buffer: make([]byte, maxStored+64)}
	return png.Decode(io.MultiReader(bytes.NewReader(content[:start]), stored, bytes.NewReader(content[end:])))
}

// pixelData tells where the chunks IDAT of a PNG are, which follow each other, and what
// they hold together. A faulty chunk ends them.
func pixelData(content []byte) (start, end int, packed []byte) {
	at := lengthOfSignature
	for len(content)-at >= aroundChunk {
		size := binary.BigEndian.Uint32(content[at:])
		if uint64(size) > uint64(len(content)-at-aroundChunk) {
			break
		}
		name, next := content[at+4:at+8], at+aroundChunk+int(size)
		isData := string(name) == "IDAT" && crc32.ChecksumIEEE(content[at+4:next-4]) == binary.BigEndian.Uint32(content[next-4:])
		if isData && packed == nil {
			start, packed = at, make([]byte, 0, len(content)-at)
		}
		if !isData && packed != nil {
			break
		}
		if isData {
			packed = append(packed, content[at+8:next-4]...)
		}
		at = next
	}
	if packed == nil {
		start = at
	}
	return start, at, packed
}

// maxStored bounds what a stored block holds, in bytes; beside that, its chunk has at
// most 64.
const maxStored = 32 << 10

// storer reads as chunks IDAT, each with one stored block (RFC 1951 section 3.2.4) of
// what the inflater gives.
type storer struct {
	inflater io.Reader
	sum      hash.Hash32 // Adler-32 of all blocks
	head     []byte      // of zlib, before the first block
	buffer   []byte
	chunk    []byte // what has not been read of the current one
	ended    bool
}

func (s *storer) Read(p []byte) (int, error) {
	if len(s.chunk) == 0 && s.ended {
		return 0, io.EOF
	}
	if len(s.chunk) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.chunk)
	s.chunk = s.chunk[n:]
	return n, nil
}

// next makes the next chunk.
func (s *storer) next() error {
	out := append(append(s.buffer[:0], "\x00\x00\x00\x00IDAT"...), s.head...)
	s.head = nil
	data := s.buffer[len(out)+5:][:maxStored]
	n, final := 0, byte(0)
	for n < maxStored && !s.ended {
		more, err := s.inflater.Read(data[n:])
		n += more
		switch err {
		case nil:
		case io.EOF:
			s.ended, final = true, 1
		default:
			return err
		}
	}
	out = append(out, final, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
	out = out[:len(out)+n]
	s.sum.Write(data[:n])
	if s.ended {
		out = s.sum.Sum(out)
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-8))
	s.chunk = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
	return nil
}
