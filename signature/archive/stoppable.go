package archive

import (
	"bytes"
	"errors"
)

var errStopped = errors.New("unpacking was stopped")

// stoppable is how often a packed file is asked whether to stop, in bytes.
const stoppable = 4 << 10

// packed is a packed file. Reading it fails once unpacking is to stop: a decompressor may
// take long over data that gives nothing.
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
