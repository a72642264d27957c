package folder

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// WriteChecked writes b and its CRC32C.
func WriteChecked(w io.Writer, b []byte) error {
	_, err := w.Write(Seal(b))
	return err
}

func Trailing(rest []byte) error {
	if len(rest) == 0 {
		return nil
	}
	return fmt.Errorf("%d bytes too many", len(rest))
}

var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CheckedReader reads pieces that each end in their CRC32C.
type CheckedReader struct {
	R  *bufio.Reader
	At int64 // offset of the piece being read
	b  []byte
}

// More reads n more bytes of the piece. The result is valid until the next call of End or Next.
func (c *CheckedReader) More(n int) ([]byte, error) {
	from := len(c.b)
	c.b = append(c.b, make([]byte, n)...)
	switch _, err := io.ReadFull(c.R, c.b[from:]); {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, errors.New("file is cut short")
	case err != nil:
		return nil, err
	}
	return c.b[from:], nil
}

// End verifies the checksum of the piece and begins the next one.
func (c *CheckedReader) End() error {
	sum := crc32.Checksum(c.b, Castagnoli)
	crc, err := c.More(4)
	if err != nil {
		return err
	}
	if binary.BigEndian.Uint32(crc) != sum {
		return errors.New("checksum is wrong")
	}
	c.Next()
	return nil
}

// Next begins the next piece without verifying the present one.
func (c *CheckedReader) Next() {
	c.At += int64(len(c.b))
	c.b = c.b[:0]
}
