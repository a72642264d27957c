package store

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// The library maps the file. If the disk cannot read a page of it, the system sends a signal instead of
// an error, which by default ends the process, and with it the judging of mail.

// errUnreadable lasts until a restart: other transactions may succeed meanwhile.
var errUnreadable = fmt.Errorf("%w: the disk cannot read a part of it: stop spambloomd and run spambloomd --repair", record.ErrDamaged)

// withFaults runs do, which reads the mapped file, and returns errUnreadable if the disk cannot read a page.
func (s *File) withFaults(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		fault := recover()
		if _, ok := fault.(interface{ Addr() uintptr }); ok {
			err = errUnreadable
			s.unreadable.Store(true)
		} else if fault != nil {
			panic(fault)
		}
	}()
	return do()
}

// view is View without the path in its error.
func (s *File) view(do func(*bolt.Tx) error) error {
	return s.withFaults(func() error { return s.db.View(do) })
}

// update runs a transaction. If even its end needs a page that the disk cannot read, the library
// keeps its lock, and would wait for it forever: then each later transaction fails at once.
func (s *File) update(do func(*bolt.Tx) error) error {
	if s.stuck != nil {
		return s.stuck
	}
	var begun *bolt.Tx
	err := s.withFaults(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			begun = tx
			return do(tx)
		})
	})
	if begun != nil && begun.DB() != nil {
		s.stuck = err
	}
	return err
}

// checkReadable reads the first size bytes of the file. The library's own check runs in a goroutine in
// which an unreadable page would end the process.
func (s *File) checkReadable(size int64) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.CopyN(io.Discard, f, size); err != nil {
		return fmt.Errorf("%w: %w", record.ErrDamaged, err)
	}
	return nil
}
