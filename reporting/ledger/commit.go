package ledger

import (
	"fmt"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// maxJobs bounds what one transaction takes.
const maxJobs = 512

// job is work for a transaction. It returns an error of the storage, which ends the
// transaction, and sets refused before it has written anything, where it cannot be.
type job struct {
	do      func(*txn) error
	refused error
	done    chan error
}

// commit does work in a transaction with whatever else waits, and returns when it is
// on disk: group commit.
func (l *Ledger) commit(do func(*txn, *job) error) error {
	j := &job{done: make(chan error, 1)}
	j.do = func(t *txn) error { return do(t, j) }
	select {
	case l.jobs <- j:
		return <-j.done
	case <-l.quit:
		return ErrClosed
	}
}

// work is the goroutine that writes. It takes all that waits at once, so that many
// share the disk's time and one alone does not wait for others.
func (l *Ledger) work() {
	defer close(l.ended)
	for {
		select {
		case j := <-l.jobs:
			l.batch(append(make([]*job, 0, 16), j))
		case <-l.quit:
			return
		}
	}
}

func (l *Ledger) batch(jobs []*job) {
	for len(jobs) < maxJobs {
		select {
		case j := <-l.jobs:
			jobs = append(jobs, j)
			continue
		default:
		}
		break
	}
	err := l.transaction(jobs)
	for _, j := range jobs {
		if err != nil {
			j.done <- err
		} else {
			j.done <- j.refused
		}
	}
}

// transaction runs the jobs, and forgets what was settled. On an error the file is as
// before.
func (l *Ledger) transaction(jobs []*job) error {
	paid := l.paid.take()
	err := l.db.Update(func(tx *bolt.Tx) error {
		t := newTxn(tx, l)
		for id := range paid {
			if err := t.due.Delete(id[:]); err != nil {
				return err
			}
		}
		for _, j := range jobs {
			if err := j.do(t); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		l.fault.Store(nil)
		return nil
	}
	l.paid.putBack(paid)
	err = fmt.Errorf("ledger %s: %w", l.opt.Path, err)
	text := err.Error()
	l.fault.Store(&text)
	return err
}

// settled are decisions that were carried out. They are forgotten with the next
// transaction: to carry one out twice does no harm.
type settled struct {
	mu   sync.Mutex
	ids  map[number]bool
	held int // while it is above 0, none is forgotten
}

// hold keeps decisions from being forgotten until release: a copy is being taken.
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

func (s *settled) take() map[number]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held > 0 {
		return nil
	}
	ids := s.ids
	s.ids = nil
	return ids
}

func (s *settled) putBack(ids map[number]bool) {
	for id := range ids {
		s.add(id)
	}
}

func (s *settled) add(id number) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = map[number]bool{}
	}
	s.ids[id] = true
}

func (s *settled) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids) > 0
}
