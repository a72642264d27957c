package spill

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// hang lets the next write of a file wait until it is called.
func hang(t *testing.T, f *File) (end func()) {
	t.Helper()
	r, w, err := os.Pipe()
	testenv.Check(t, err)
	real := f.file
	f.file = w
	return func() {
		f.file = real
		go io.Copy(io.Discard, r) // ends with w
		t.Cleanup(func() { w.Close() })
	}
}

// A disk that hangs costs one message its patience, the others none. A file keeps what was written
// before. When the disk goes on, so does the rest.
func TestHangingDisk(t *testing.T) {
	var running sync.WaitGroup
	d, folder, chunk := NewDisk(running.Go), t.TempDir(), bytes.Repeat([]byte("spam"), 1<<20)
	hit, other := d.File(folder, 100*time.Millisecond), d.File(folder, time.Hour)
	for _, f := range []*File{hit, other} {
		testenv.Check(t, f.Append([]byte("before ")))
	}
	end := hang(t, hit)
	for _, f := range []*File{hit, other, d.File(folder, time.Hour)} { // an hour is longer than the test's timeout
		if err := f.Append(chunk); !errors.Is(err, errHangs) {
			t.Errorf("a write on a disk that hangs: %v", err)
		}
	}
	var closed sync.WaitGroup
	closed.Add(1)
	if other.Close(closed.Done); other.Size() != 7 {
		t.Errorf("%d bytes", other.Size())
	}
	closed.Wait()

	end()
	running.Wait()
	if body, err := hit.Join(Chunks{[]byte("begin ")}); err != nil || string(body) != "begin before " {
		t.Errorf("%q, %v", body, err)
	}
	hit.Close(func() {})
	after := d.File(folder, testenv.Patience)
	testenv.Check(t, after.Append(chunk))
	if body, err := after.Join(nil); err != nil || !bytes.Equal(body, chunk) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	after.Close(func() {})
}

// The writes of a file have their patience together.
func TestSlowDisk(t *testing.T) {
	var running sync.WaitGroup
	defer running.Wait()
	d := NewDisk(running.Go)
	for range parallel {
		d.writes.turns <- struct{}{}
	}
	f := d.File(t.TempDir(), time.Millisecond)
	if err := f.Append([]byte("a")); !errors.Is(err, errHangs) {
		t.Errorf("without a turn: %v", err)
	}
	for range parallel {
		<-d.writes.turns
	}
	if err := f.Append([]byte("a")); !errors.Is(err, errHangs) {
		t.Errorf("without patience: %v", err)
	}
	if body, err := f.Join(Chunks{[]byte("begin")}); err != nil || string(body) != "begin" {
		t.Errorf("%q, %v", body, err)
	}
	f.Close(func() {})
}

// A disk whose reads hang costs one message its patience, and the others none. Writes that hang do not keep
// what is in memory from being read.
func TestHangingRead(t *testing.T) {
	var running sync.WaitGroup
	d, folder, chunk := NewDisk(running.Go), t.TempDir(), bytes.Repeat([]byte("spam"), 1<<16)
	hit, other := d.File(folder, time.Hour), d.File(folder, time.Hour)
	for _, f := range []*File{hit, other} {
		testenv.Check(t, f.Append(chunk))
	}
	d.writes.hanging.Add(1)
	if body, err := other.Join(nil); err != nil || !bytes.Equal(body, chunk) {
		t.Errorf("while a write hangs: %d bytes, %v", len(body), err)
	}
	d.writes.hanging.Add(-1)

	r, w, err := os.Pipe() // a read at an offset fails there at once, so one that hangs is begun by hand
	testenv.Check(t, err)
	hangs := func() error { _, err := r.Read(make([]byte, 1)); return err }
	if err := d.do(&d.reads, 100*time.Millisecond, hangs, func() {}); !errors.Is(err, errHangs) {
		t.Errorf("a read that hangs: %v", err)
	}
	for _, f := range []*File{hit, other} { // an hour is longer than the test's timeout
		if _, err := f.Join(nil); !errors.Is(err, errHangs) {
			t.Errorf("a file on a disk whose reads hang: %v", err)
		}
		f.Close(func() {})
	}
	w.Close()
	running.Wait()
}

// The reads of a file have their patience together, too: a disk that answers each one slowly does not delay
// mail by the number of its chunks.
func TestSlowReads(t *testing.T) {
	var running sync.WaitGroup
	defer running.Wait()
	var isSlow atomic.Bool
	d := NewDisk(func(work func()) {
		running.Go(func() {
			if isSlow.Load() {
				time.Sleep(leastPatience / 4)
			}
			work()
		})
	})
	f := d.File(t.TempDir(), time.Hour)
	for range 8 {
		testenv.Check(t, f.Append(make([]byte, joined)))
	}
	f.left = 0 // the writes were slow
	isSlow.Store(true)
	if _, err := f.Join(nil); !errors.Is(err, errHangs) {
		t.Errorf("eight slow reads: %v", err)
	}
	f.Close(func() {})
}
