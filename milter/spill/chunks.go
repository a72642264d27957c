package spill

import (
	"bytes"
	"io"
	"slices"
)

// SmallChunk is the size below which a chunk is joined to the previous one. MTAs send 64 KiB and a
// rest; a client that sends tiny chunks must not use many times their memory. Chunks are joined up
// to joined bytes. Unit: bytes.
const (
	SmallChunk = 4 << 10
	joined     = 64 << 10
)

// Chunks is the part of a body that is in memory.
type Chunks [][]byte

// Add appends to the body. It keeps chunk, apart from which it takes at most 4 KiB.
func (c *Chunks) Add(chunk []byte) {
	last := len(*c) - 1
	switch {
	case len(chunk) == 0:
	case last >= 0 && len(chunk) < SmallChunk && len((*c)[last])+len(chunk) <= joined:
		(*c)[last] = join((*c)[last], chunk)
	case cap(chunk)-len(chunk) > SmallChunk || len(chunk) < SmallChunk: // part of a longer packet
		*c = append(*c, bytes.Clone(chunk))
	default:
		*c = append(*c, chunk)
	}
}

// join appends like append, but allocates at most SmallChunk bytes ahead.
func join(to, chunk []byte) []byte {
	if n := len(to) + len(chunk); n > cap(to) {
		to = append(make([]byte, 0, n+min(n, SmallChunk)), to...)
	}
	return append(to, chunk...)
}

// Size is in bytes.
func (c Chunks) Size() (size int64) {
	for _, chunk := range c {
		size += int64(len(chunk))
	}
	return size
}

// Bytes returns the body. One chunk, as in most mail, is not copied.
func (c Chunks) Bytes() []byte {
	if len(c) == 1 {
		return c[0]
	}
	return slices.Concat(c...)
}

// Beginning returns a copy of at most that many bytes.
func (c Chunks) Beginning(most int) (body []byte) {
	for _, chunk := range c {
		body = append(body, chunk[:min(most-len(body), len(chunk))]...)
	}
	return body
}

// Copy writes the body to w.
func (c Chunks) Copy(w io.Writer) error {
	for _, chunk := range c {
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}
