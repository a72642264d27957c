package folder

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// A pipe with the name of a lock or a mark does not block. The lock still locks.
func TestPipesDoNotBlock(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lock", "site.key" + DamagedSuffix} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, second := NewLock(dir), NewLock(dir)
	if ok, err := first.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := second.TryLock(); ok || err != nil {
		t.Error(ok, err)
	}
	if err := first.Unlock(); err != nil {
		t.Error(err)
	}
	if err := LeaveMark(filepath.Join(dir, "site.key")); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "site.key"+DamagedSuffix)); err != nil {
		t.Error(err)
	}
	if err := LeaveMark(filepath.Join(dir, "site.key")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "site.key"+DamagedSuffix)); err != nil || info.Size() != 0 {
		t.Error(info, err)
	}
}

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
