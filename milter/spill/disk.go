package spill

import (
	"errors"
	"sync/atomic"
	"time"
)

// parallel is how many writes, and how many reads, may be under way: what a disk that hangs keeps of a message is a chunk each.
const parallel = 8

var errHangs = errors.New("the disk does not answer in time")

// Disk bounds the time that messages wait for the disk of their temporary files. Operations run aside. One that is
// not done in time goes on alone, and until it ends no other of its lane begins: the next messages need not wait as well.
// Its methods are safe for concurrent use.
type Disk struct {
	run           func(func()) // starts a goroutine
	writes, reads lane         // what was written is in memory as a rule, and is read there while writes hang
}

// lane are the operations of a kind.
type lane struct {
	turns   chan struct{}
	hanging atomic.Int32 // operations that go on alone
}

// NewDisk returns the disk whose operations run starts as goroutines, and waits for.
func NewDisk(run func(func())) *Disk {
	d := &Disk{run: run}
	d.writes.turns, d.reads.turns = make(chan struct{}, parallel), make(chan struct{}, parallel)
	return d
}

// File returns an empty file, which exists from its first write on, in a folder. All its writes and reads together wait
// at most patience for the disk.
func (d *Disk) File(folder string, patience time.Duration) *File {
	return &File{disk: d, folder: folder, left: patience}
}

// do returns the error of an operation, or errHangs if it has no turn or is not done in time. In the latter case it
// calls late at the operation's end.
func (d *Disk) do(l *lane, patience time.Duration, work func() error, late func()) (err error) {
	if patience <= 0 || l.hanging.Load() > 0 {
		return errHangs
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case l.turns <- struct{}{}:
	case <-timer.C:
		return errHangs
	}
	var failed error
	isDone := d.await(timer, func() { failed = work(); <-l.turns }, func() { late(); l.hanging.Add(-1) })
	if !isDone {
		l.hanging.Add(1)
		return errHangs
	}
	return failed
}

// end runs what has to be done in any case, and does not wait for a disk that hangs.
func (d *Disk) end(patience time.Duration, work func()) {
	if d.writes.hanging.Load()+d.reads.hanging.Load() > 0 {
		patience = 0
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	d.await(timer, work, func() {})
}

// await runs work aside, and reports whether it was done in time. If not, late is called at its end.
func (d *Disk) await(timer *time.Timer, work, late func()) bool {
	var isOver atomic.Bool // set by the first: the end of the work, or that of the wait
	done := make(chan struct{})
	d.run(func() {
		work()
		if isOver.CompareAndSwap(false, true) {
			close(done)
			return
		}
		late()
	})
	select {
	case <-done:
		return true
	case <-timer.C:
	}
	return !isOver.CompareAndSwap(false, true)
}
