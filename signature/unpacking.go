package signature

import (
	"bytes"
	"errors"
)

// Unpacking lets a caller of ComputeWith bound how many messages are unpacked at a time.
// Decoding images and unpacking archives takes up to 64 MiB, whatever the size of the
// message; the rest of signing takes memory by size.
//
// It is called before a message is unpacked, and may wait. Done is called when that memory
// is no longer used. If stop is closed before, unpacking stops within 4 KiB of packed data
// or one image, done is called, and the message is unpacked from the beginning after a
// further call. A nil stop never does that.
type Unpacking func() (stop <-chan struct{}, done func())

// unpack calls work, which unpacks, until it was not stopped. What a stopped call noted
// is forgotten, so that the signatures do not depend on it.
func (c *computer) unpack(work func()) {
	if c.unpacking == nil {
		work()
		return
	}
	limits, counted := c.limits, c.work
	for c.unpackOnce(work); c.stopped; c.unpackOnce(work) {
		c.limits, c.work = limits, counted
	}
}

// unpackOnce sets c.stopped if work was stopped.
func (c *computer) unpackOnce(work func()) {
	stop, done := c.unpacking()
	defer done()
	c.stop, c.stopped = stop, false
	work()
}

// isStopped reports whether unpacking is to stop.
func (c *computer) isStopped() bool {
	if !c.stopped {
		select {
		case <-c.stop:
			c.stopped = true
		default:
		}
	}
	return c.stopped
}

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
