package spamd

import (
	"compress/zlib"
	"io"
)

// inflater reads a compressed message. Decompressing needs no turn, and a client can make it
// expensive (signature/FORMAT.md, "Cost"), for as long as it sends. So one message at a time is
// decompressed, whatever the number of connections: mail has at least half of one processor. The
// place is given up while more data is awaited, and after each read.
type inflater struct {
	place      chan struct{} // has one element while the place is taken
	compressed io.Reader
	inflated   io.Reader
}

// newInflater reads the beginning of a message.
func newInflater(place chan struct{}, compressed io.Reader) (i *inflater, err error) {
	i = &inflater{place: place, compressed: compressed}
	i.place <- struct{}{}
	defer func() { <-i.place }()
	i.inflated, err = zlib.NewReader(waiting{i})
	return i, err
}

// Read takes a place at its first call.
func (i *inflater) Read(p []byte) (int, error) {
	i.place <- struct{}{}
	defer func() { <-i.place }()
	return i.inflated.Read(p)
}

// waiting reads the compressed data of a message that has the place, and gives it up meanwhile.
type waiting struct{ *inflater }

func (w waiting) Read(p []byte) (int, error) {
	<-w.place
	defer func() { w.place <- struct{}{} }()
	return w.compressed.Read(p)
}
