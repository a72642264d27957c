package ledger

import (
	"errors"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Copy is the file as it was at one moment, for a backup. Reports go on meanwhile, in new
// pages: the file grows until Close.
type Copy struct {
	path string
	tx   *bolt.Tx
}

// Copy runs filters, which takes a copy of what the ledger's decisions have led to, and
// then begins one of the ledger. Together they are what a crash could have left: the
// filters' copy has every decision that the ledger's copy no longer has as due, since none
// is forgotten meanwhile, and the ledger's copy has every report behind the filters' copy.
// The error is that of filters, or ErrClosed.
func (l *Ledger) Copy(filters func() error) (*Copy, error) { return l.file.copy(filters) }

// copy is Ledger.Copy.
func (s *store) copy(filters func() error) (*Copy, error) {
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

// Size is the length of the copy in bytes.
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

// Contents is what CheckFile has counted.
type Contents struct{ Reports, Reporters int64 }

// CheckFile reads the file of a ledger that nobody has open, as Open would, and names what
// is damaged, or ErrVersion.
func CheckFile(path string) (Contents, error) {
	v, _, err := inspect(path)
	if err = errors.Join(errors.Join(v.faults...), err); err != nil {
		return Contents{}, fmt.Errorf("ledger %s: %w", path, err)
	}
	return Contents{v.counts["reports"], v.counts["reporters"]}, nil
}
