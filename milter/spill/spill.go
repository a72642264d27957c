// Package spill holds a message's body: its beginning in memory, in chunks, and the end that did not
// fit there in an unnamed temporary file. A crash leaves nothing behind.
//
// It leaves room on the disk for reports. How much all files together may take is for the
// caller to bound. A File is for one goroutine.
package spill

import (
	"fmt"
	"io"
	"os"
)

// Reserve is the space that bodies leave free on their disk for the journal: without space no
// report is accepted. Unit: bytes.
const Reserve = 256 << 20

// File is the end of a body.
type File struct {
	file *os.File
	size int64 // bytes of complete writes
}

// Create creates an empty file in a folder whose disk has room.
func Create(folder string) (*File, error) {
	if err := CheckRoom(folder); err != nil {
		return nil, err
	}
	file, err := openNameless(folder)
	if err != nil {
		return nil, fmt.Errorf("temporary file for a body: %w", err)
	}
	return &File{file: file}, nil
}

// CheckRoom returns an error if the disk of a folder has at most Reserve bytes free. The caller
// asks before each Append, because others write to the disk too.
func CheckRoom(folder string) error {
	if err := checkRoom(folder); err != nil {
		return fmt.Errorf("temporary file for a body: %w", err)
	}
	return nil
}

// Append appends to the file. A chunk that is not written as a whole is not part of it.
func (f *File) Append(chunk []byte) error {
	if _, err := f.file.Write(chunk); err != nil {
		return err
	}
	f.size += int64(len(chunk))
	return nil
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
	size := begin.Size() + f.size
	body := make([]byte, 0, size)
	for _, chunk := range begin {
		body = append(body, chunk...)
	}
	at := len(body)
	body = body[:size]
	if _, err := io.ReadFull(io.NewSectionReader(f.file, 0, f.size), body[at:]); err != nil {
		return nil, fmt.Errorf("temporary file of a body: %w", err)
	}
	return body, nil
}

// Copy writes the content to w.
func (f *File) Copy(w io.Writer) error {
	_, err := io.Copy(w, io.NewSectionReader(f.file, 0, f.size))
	return err
}

// Close closes the file, which deletes its content. An abandoned judgement may still read it,
// and then fails.
func (f *File) Close() {
	if f != nil {
		f.file.Close() // the content is deleted whatever Close returns
	}
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
