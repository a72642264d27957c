package folder

import (
	"bytes"
	"errors"
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

// A repair leaves out what is longer than an undamaged file, and zeros at the end beyond those that a record
// may end with.
func TestSalvageOfLongFiles(t *testing.T) {
	const most = 1 << 20
	path := filepath.Join(t.TempDir(), "identity")
	for _, length := range []int64{0, 5, salvageStep + 1, 3*salvageStep + salvageZeros, most, most + 1, 64 << 30} {
		for _, at := range []int64{0, 3 * salvageStep} { // zeros before it are kept
			made := errors.Join(os.WriteFile(path, append(make([]byte, at), "content"...), 0o600), os.Truncate(path, length))
			data, rest, err := Salvage(path, most)
			if err = errors.Join(made, err); err != nil {
				t.Fatal(err)
			}
			whole, err := ReadBounded(path, most)
			var damage *DamageError
			switch isLong := length > most; {
			case errors.As(err, &damage) != isLong:
				t.Errorf("%d bytes: %v", length, err)
			case int64(len(data))+rest != length || len(data) > int(at)+salvageStep+salvageZeros:
				t.Errorf("%d bytes: %d and %d", length, len(data), rest)
			case !isLong && (!bytes.HasPrefix(whole, data) || len(bytes.Trim(whole[len(data):], "\x00")) > 0):
				t.Errorf("%d bytes: %d differ", length, len(data))
			}
		}
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
