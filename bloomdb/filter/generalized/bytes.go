package generalized

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

const (
	magic     = "SBGN"
	version   = 1
	headBytes = 4 + 1 + 2 + 2 + 8 + 8 // magic, version, k0, k1, m, inserted
	crcBytes  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Bytes returns the length of an encoded filter of this shape.
func (s Shape) Bytes() int { return headBytes + int((s.M+7)/8) + crcBytes }

// AppendBinary appends the filter's bytes to dst; FORMAT.md has the layout. It never fails;
// the error is required by encoding.BinaryAppender.
func (g *Filter) AppendBinary(dst []byte) ([]byte, error) {
	from := len(dst)
	dst = append(dst, magic...)
	dst = append(dst, version)
	dst = binary.BigEndian.AppendUint16(dst, uint16(g.shape.K0))
	dst = binary.BigEndian.AppendUint16(dst, uint16(g.shape.K1))
	dst = binary.BigEndian.AppendUint64(dst, g.shape.M)
	dst = binary.BigEndian.AppendUint64(dst, g.inserted)
	for i, left := 0, int(g.shape.M+7)/8; left > 0; i, left = i+1, left-8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], g.words[i])
		dst = append(dst, word[:min(8, left)]...)
	}
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[from:], castagnoli)), nil
}

// Decode decodes a filter written by AppendBinary. It must have the shape want:
// a sender chooses neither the filter's size nor the number of functions that bound its
// errors. If the shapes differ, the error contains both. No memory is allocated for a
// filter before all of it is checked.
func Decode(data []byte, want Shape) (*Filter, error) {
	shape, inserted, err := header(data)
	if err != nil {
		return nil, fmt.Errorf("generalized bloom filter: %w", err)
	}
	if shape != want {
		return nil, fmt.Errorf("generalized bloom filter: shape is %s, expected %s", shape, want)
	}
	body, sum := data[:len(data)-crcBytes], binary.BigEndian.Uint32(data[len(data)-crcBytes:])
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return nil, fmt.Errorf("generalized bloom filter: checksum is %08x, must be %08x", sum, got)
	}
	content := body[headBytes:]
	if used := shape.M % 8; used != 0 && content[len(content)-1]>>used != 0 {
		return nil, fmt.Errorf("generalized bloom filter: bits are set beyond m=%d", shape.M)
	}
	g, err := New(shape)
	if err != nil {
		return nil, err
	}
	g.inserted = inserted
	for i := range g.words {
		var word [8]byte
		copy(word[:], content[8*i:])
		g.words[i] = binary.LittleEndian.Uint64(word[:])
		g.ones += uint64(bits.OnesCount64(g.words[i]))
	}
	return g, nil
}

// hasValidSum reports whether data ends in its checksum.
func hasValidSum(data []byte) bool {
	at := len(data) - crcBytes
	return crc32.Checksum(data[:at], castagnoli) == binary.BigEndian.Uint32(data[at:])
}

var errMagic = errors.New("bytes do not begin with " + magic)

// header reads the header and checks that the data has exactly the length it
// announces.
func header(data []byte) (shape Shape, inserted uint64, err error) {
	if len(data) < len(magic) || string(data[:len(magic)]) != magic {
		return shape, 0, errMagic
	}
	if len(data) < headBytes+crcBytes {
		return shape, 0, fmt.Errorf("truncated at %d bytes", len(data))
	}
	if v := data[4]; v > version && hasValidSum(data) {
		return shape, 0, fmt.Errorf("newer format (version %d; this program reads %d), %w", v, version, filter.ErrNewer)
	} else if v != version {
		return shape, 0, fmt.Errorf("version %d, this program reads %d", v, version)
	}
	shape = Shape{
		K0: int(binary.BigEndian.Uint16(data[5:])),
		K1: int(binary.BigEndian.Uint16(data[7:])),
		M:  binary.BigEndian.Uint64(data[9:]),
	}
	if err := shape.Valid(); err != nil {
		return shape, 0, err
	}
	if len(data) != shape.Bytes() {
		return shape, 0, fmt.Errorf("has %d bytes, %s takes %d", len(data), shape, shape.Bytes())
	}
	return shape, binary.BigEndian.Uint64(data[17:]), nil
}
