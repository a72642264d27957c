// Package store owns the ledger's file while it is open: it opens it after a check of every
// page, writes in transactions that many jobs share, removes settled decisions, and takes
// copies. It deals with buckets and records, not with what is entered or decided.
//
//	Open -> salvage.Check -> the library opens the file
//	Commit(job) -> the writing goroutine takes all jobs that wait -> one transaction, one fsync
//	Settle(decision) -> removed with the next transaction
//	Close -> the goroutine ends, settled decisions are removed
//
// A File has one lock, of the settled decisions, which is held for a look into a table.
// Readers have transactions of their own and do not wait for writers.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/reporting/ledger/buckets"
)

// maxJobs bounds the jobs of one transaction.
const maxJobs = 512

// ErrClosed is the error of everything after Close.
var ErrClosed = errors.New("the ledger of reports is closed")

// File is the open file. It is safe for concurrent use.
type File struct {
	path       string
	opened     os.FileInfo // identifies the open file
	OneHeader  bool        // when it was opened, one of two headers was damaged: the last transaction may be missing
	db         *bolt.DB
	jobs       chan *job
	quit       chan struct{} // closed by Close
	ended      chan struct{} // closed when the last transaction has ended
	closing    sync.Once
	settled    settled
	failed     atomic.Pointer[string] // the error of the last transaction; nil: it succeeded
	unreadable atomic.Bool            // see errUnreadable
	stuck      error                  // see update; only for the goroutine that writes, and Close after it
}

// Open opens the file, or makes it. It refuses a damaged file, and one of another version,
// and leaves it as it is. With noSync the system decides when to write to the disk.
func Open(path string, noSync bool, log *slog.Logger) (*File, error) {
	db, one, err := openFile(path, noSync, log)
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	opened, err := os.Stat(path)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &File{path: path, opened: opened, OneHeader: one, db: db, jobs: make(chan *job), quit: make(chan struct{}), ended: make(chan struct{})}
	if err := s.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("ledger %s: %w", path, err), db.Close())
	}
	go s.work()
	return s, nil
}

// job is work for a transaction.
type job struct {
	do      func(*bolt.Tx) (refused, err error)
	refused error
	done    chan error
}

// Commit runs do in a transaction together with other jobs that wait, and returns when it is
// on disk (group commit). If do returns err, nothing of the transaction is written. It may
// return refused only if it has written nothing; the other jobs go on.
func (s *File) Commit(do func(*bolt.Tx) (refused, err error)) error {
	j := &job{do: do, done: make(chan error, 1)}
	select {
	case s.jobs <- j:
		return <-j.done
	case <-s.quit:
		return ErrClosed
	}
}

// View reads in a transaction. Keys and values must be copied before it ends.
func (s *File) View(do func(*bolt.Tx) error) error {
	if err := s.view(do); err != nil {
		return fmt.Errorf("ledger %s: %w", s.path, err)
	}
	return nil
}

// work is the goroutine that writes. It takes all jobs that wait at once, so that many share
// one write to the disk and a single one does not wait for others.
func (s *File) work() {
	defer close(s.ended)
	for {
		select {
		case j := <-s.jobs:
			s.batch(append(make([]*job, 0, 16), j))
		case <-s.quit:
			return
		}
	}
}

func (s *File) batch(jobs []*job) {
	for len(jobs) < maxJobs {
		select {
		case j := <-s.jobs:
			jobs = append(jobs, j)
			continue
		default:
		}
		break
	}
	err := s.transaction(jobs)
	for _, j := range jobs {
		if err != nil {
			j.done <- err
		} else {
			j.done <- j.refused
		}
	}
}

// errReplaced is the error of a file that is no longer the open one. What is written then would be
// lost with the process.
var errReplaced = errors.New("the file was replaced or removed while it was open, for example by a backup that was extracted: restart spambloomd, which checks the folder")

// checkPlace reports whether the open file still has its name.
func (s *File) checkPlace() error {
	now, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(s.opened, now):
		return errReplaced
	default:
		return err
	}
}

// transaction runs the jobs, and removes the settled decisions. After an error the file is
// as before.
func (s *File) transaction(jobs []*job) error {
	if err := s.checkPlace(); err != nil {
		return s.fail(err)
	}
	settled := s.settled.take()
	err := s.update(func(tx *bolt.Tx) (err error) {
		for id := range settled {
			if err := tx.Bucket(buckets.Due).Delete(id[:]); err != nil {
				return err
			}
		}
		for _, j := range jobs {
			if j.refused, err = j.do(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.recovered()
		return nil
	}
	s.settled.putBack(settled)
	return s.fail(err)
}

func (s *File) fail(err error) error {
	err = fmt.Errorf("ledger %s: %w", s.path, err)
	text := err.Error()
	s.failed.Store(&text)
	return err
}

// recovered ends a fault after a transaction, unless there was room only for that one: a small
// transaction fits where the next report does not.
func (s *File) recovered() {
	if s.failed.Load() == nil {
		return
	}
	if err := folder.CheckRoom(filepath.Dir(s.path)); err != nil {
		_ = s.fail(err) // the transaction itself is on disk
		return
	}
	s.failed.Store(nil)
}

// Fault returns the error of the last transaction that failed; nil once one has succeeded and
// there is room for more. A page that the disk could not read is a fault until the restart.
func (s *File) Fault() error {
	if s.unreadable.Load() {
		return fmt.Errorf("ledger %s: %w", s.path, errUnreadable)
	}
	if text := s.failed.Load(); text != nil {
		return errors.New(*text)
	}
	return nil
}

// Settle removes a decision with the next transaction, or at the latest with Close. Until
// then a crash brings it back.
func (s *File) Settle(due uint64) { s.settled.add(buckets.NewNumber(due)) }

// Flush removes the settled decisions if no transaction has done so. After an error of the
// disk it finds out whether the disk works again.
func (s *File) Flush() error {
	if !s.settled.waiting() && s.failed.Load() == nil {
		return nil
	}
	return s.Commit(func(*bolt.Tx) (refused, err error) { return nil, nil })
}

// Close removes the settled decisions and closes the file. Jobs that wait get ErrClosed.
func (s *File) Close() (err error) {
	s.closing.Do(func() {
		close(s.quit)
		<-s.ended
		if s.settled.waiting() {
			err = s.transaction(nil)
		}
		if s.stuck == nil { // else it would wait for the lock
			err = errors.Join(err, s.db.Close())
		}
	})
	return err
}

// settled are decisions that were carried out. They are removed with the next transaction;
// carrying one out twice does no harm.
type settled struct {
	mu   sync.Mutex
	ids  map[buckets.Number]bool
	held int // while it is above 0, none is removed
}

// hold keeps decisions from being removed until release, while a copy is taken.
func (s *settled) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held++
}

func (s *settled) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held--
}

func (s *settled) take() map[buckets.Number]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held > 0 {
		return nil
	}
	ids := s.ids
	s.ids = nil
	return ids
}

func (s *settled) putBack(ids map[buckets.Number]bool) {
	for id := range ids {
		s.add(id)
	}
}

func (s *settled) add(id buckets.Number) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = map[buckets.Number]bool{}
	}
	s.ids[id] = true
}

func (s *settled) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids) > 0
}
