package folder

import (
	"bytes"
	"io"
	"slices"
	"syscall"
	"testing"
)

// A repair uses all blocks that it can read of a file, even if others cannot be read.
func TestSalvage(t *testing.T) {
	data := bytes.Repeat([]byte("abcdefgh"), 4*salvageStep/8)
	bad := int64(2*salvageStep + 5)
	got := salvageFrom(failingReader{data, bad}, int64(len(data)))
	want := slices.Clone(data)
	clear(want[bad : 3*salvageStep])
	if !bytes.Equal(got, want) {
		t.Error("it differs")
	}
}

// failingReader fails from a position to the end of its page.
type failingReader struct {
	data []byte
	bad  int64
}

func (r failingReader) ReadAt(b []byte, at int64) (int, error) {
	if at/salvageStep == r.bad/salvageStep {
		return copy(b, r.data[at:r.bad]), syscall.EIO
	}
	n := copy(b, r.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
