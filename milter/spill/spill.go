// Package spill holds a message's body: its beginning in memory, in chunks, and the end that did not
// fit there in an unnamed temporary file. A crash leaves nothing behind.
//
// It leaves room on the disk for reports. How much all files together may take is for the
// caller to bound. A disk that hangs costs a message the end of its body, and time within a bound
// (disk.go). A File is for one goroutine.
package spill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Reserve is the space that bodies leave free on their disk for the journal: without space no
// report is accepted. Unit: bytes.
const Reserve = 256 << 20

// leastPatience is how long all reads may take together although the writes have used up the file's time: memory
// needs less.
const leastPatience = time.Second

// File is the end of a body.
type File struct {
	disk   *Disk
	folder string
	left   time.Duration // how long its writes and reads may still take together
	file   *os.File      // nil: nothing is written
	size   int64         // bytes of complete writes
}

// Append appends to the file. A chunk that is not written as a whole is not part of it; after an error there are no
// more. It keeps a chunk of SmallChunk bytes or more.
func (f *File) Append(chunk []byte) error {
	begun := time.Now()
	defer func() { f.left -= time.Since(begun) }()
	if len(chunk) < SmallChunk {
		chunk = bytes.Clone(chunk) // the caller uses the memory again, and a disk that hangs may need it
	}
	folder, file, isFirst := f.folder, f.file, f.file == nil
	err := f.disk.do(&f.disk.writes, f.left, func() (err error) {
		file, err = write(folder, file, chunk)
		return err
	}, func() {
		if isFirst {
			file.Close() // nobody has it; nil if it was not created
		}
	})
	if errors.Is(err, errHangs) {
		return fmt.Errorf("temporary file for a body in %s: %w", folder, err)
	}
	f.file = file
	if err == nil {
		f.size += int64(len(chunk))
	}
	return err
}

// write appends to a file, which it creates if there is none. It checks each time that the disk has room, because
// others write to it too.
func write(folder string, file *os.File, chunk []byte) (_ *os.File, err error) {
	if err := checkRoom(folder); err != nil {
		return file, fmt.Errorf("temporary file for a body: %w", err)
	}
	if file == nil {
		if file, err = openNameless(folder); err != nil {
			return nil, fmt.Errorf("temporary file for a body: %w", err)
		}
	}
	_, err = file.Write(chunk)
	return file, err
}

// Size returns the size of the file; 0 of nil.
func (f *File) Size() int64 {
	if f == nil {
		return 0
	}
	return f.size
}

// Join returns the whole body: begin, which is in memory, followed by the file.
func (f *File) Join(begin Chunks) ([]byte, error) {
	if f.size == 0 {
		return begin.Bytes(), nil
	}
	size := begin.Size() + f.size
	body := make([]byte, 0, size)
	for _, chunk := range begin {
		body = append(body, chunk...)
	}
	f.left = max(f.left, leastPatience)
	chunk := make([]byte, min(joined, f.size)) // a read that hangs keeps it, and not the body
	for at := int64(0); at < f.size; at += joined {
		chunk = chunk[:min(joined, f.size-at)]
		if err := f.read(chunk, at); err != nil {
			return nil, fmt.Errorf("temporary file of a body: %w", err)
		}
		body = append(body, chunk...)
	}
	return body, nil
}

// read fills chunk. It waits as writes do: the disk has what is no longer in the system's memory.
func (f *File) read(chunk []byte, at int64) error {
	begun := time.Now()
	defer func() { f.left -= time.Since(begun) }()
	file := f.file
	return f.disk.do(&f.disk.reads, f.left, func() error {
		_, err := io.ReadFull(io.NewSectionReader(file, at, int64(len(chunk))), chunk)
		return err
	}, func() {})
}

// Copy writes the content to w.
func (f *File) Copy(w io.Writer) error {
	_, err := io.Copy(w, io.NewSectionReader(f.file, 0, f.size))
	return err
}

// Close closes the file, which deletes its content, and then calls closed. It waits for that only as long as writes
// may. An abandoned judgement may still read the file, and then fails. A nil File has no content.
func (f *File) Close(closed func()) {
	if f == nil || f.file == nil {
		closed()
		return
	}
	file := f.file
	f.disk.end(f.left, func() {
		file.Close() // the content is deleted whatever Close returns
		closed()
	})
}

// openTemporary creates a file in folder and removes its name while it is empty.
func openTemporary(folder string) (*os.File, error) {
	file, err := os.CreateTemp(folder, ".spill-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
