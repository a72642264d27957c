package store

import (
	"errors"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Copy is the file as of one moment, for a backup. Writing goes on in new pages of the file,
// which grows until Close.
type Copy struct {
	path string
	tx   *bolt.Tx
}

// Copy runs filters, which copies the filters that decisions were written to, and then
// begins a copy of the file. Together they are a state that a crash could have left: the
// copy of the filters has every decision that is no longer due in the copy of the file,
// because none is removed meanwhile, and the copy of the file has every report behind the
// copy of the filters. The error is that of filters, or ErrClosed.
func (s *File) Copy(filters func() error) (*Copy, error) {
	s.settled.hold()
	defer s.settled.release()
	if err := filters(); err != nil {
		return nil, err
	}
	tx, err := s.db.Begin(false)
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		err = ErrClosed
	}
	if err != nil {
		return nil, fmt.Errorf("copy ledger %s: %w", s.path, err)
	}
	return &Copy{s.path, tx}, nil
}

// Size returns the length of the copy in bytes.
func (c *Copy) Size() int64 { return c.tx.Size() }

// WriteTo writes the copy. Errors are those of w, or of the disk.
func (c *Copy) WriteTo(w io.Writer) (int64, error) {
	n, err := c.tx.WriteTo(w)
	if err != nil {
		return n, fmt.Errorf("copy ledger %s: %w", c.path, err)
	}
	return n, nil
}

// Close ends the copy.
func (c *Copy) Close() error { return c.tx.Rollback() }
