package archive

import (
	"bytes"
	"errors"
)

var errStopped = errors.New("unpacking was stopped")

// stoppable is the number of bytes of a packed file after which it asks whether to stop.
const stoppable = 4 << 10

// packed is a packed file. Reading it fails once unpacking is to stop, as a decompressor
// may take long over data that inflates to nothing.
type packed struct {
	*bytes.Reader
	isStopped func() bool
}

func (p packed) Read(b []byte) (int, error) {
	if p.isStopped() {
		return 0, errStopped
	}
	return p.Reader.Read(b[:min(len(b), stoppable)])
}

func (p packed) ReadByte() (byte, error) {
	if p.Len()%stoppable == 0 && p.isStopped() {
		return 0, errStopped
	}
	return p.Reader.ReadByte()
}

func (p packed) ReadAt(b []byte, at int64) (int, error) {
	if p.isStopped() {
		return 0, errStopped
	}
	return p.Reader.ReadAt(b, at)
}
