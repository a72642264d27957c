package queue

import (
	"context"
	"errors"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/reporting/api"
)

// ErrBusy is returned while another process delivers. That process also delivers entries
// added before it ends.
var ErrBusy = errors.New("another process delivers what waits")

// Fate is the result of passing an entry to the daemon.
type Fate int

const (
	Settled Fate = iota // the daemon accepted it, or will never accept it
	Later               // not now, nor other entries of this reporter
	Away                // the daemon accepts nothing now
)

// Send passes an entry to the daemon.
type Send func(context.Context, Entry) Fate

// party identifies entries whose order is kept: those of one reporter for one daemon.
type party struct{ control, reporter string }

func partyOf(e Entry) party { return party{e.Control, api.FoldReporter(e.Request.Reporter)} }

// delivery is one run of Deliver.
type delivery struct {
	q      *Queue
	send   Send
	tried  uint64         // entries up to this number were sent or skipped
	behind map[party]bool // parties with an entry that must wait, so that their later ones wait too
	away   map[string]bool
	bad    error    // errors of unreadable entries
	owed   []uint64 // settled entries that could not be recorded for lack of space
}

// Deliver passes all waiting entries to send, one after another and the oldest first,
// including those added meanwhile. When ctx ends, the others stay in the queue; send must
// observe ctx itself. It returns ErrBusy if another process delivers. An unreadable entry,
// such as one of a later version, stays in the queue and is returned as an error at the
// end.
func (q *Queue) Deliver(ctx context.Context, send Send) error {
	if err := q.checkFolder(); err != nil {
		return ignoreMissing(err)
	}
	unlock, ok, err := q.lock(deliveryName, false)
	if err != nil {
		return err
	}
	if !ok {
		return ErrBusy
	}
	defer unlock()
	d := &delivery{q: q, send: send, behind: map[party]bool{}, away: map[string]bool{}}
	for {
		next, err := d.next(ctx, unlock)
		if err != nil || len(next) == 0 {
			return errors.Join(err, d.bad)
		}
		for _, r := range next {
			if err := d.hand(ctx, r); err != nil {
				return err
			}
		}
	}
}

// next reads the entries to send next. If there are none, it cleans the file up and
// releases the lock of the delivery by calling end. That happens under the lock of the
// file. An entry whose adder received ErrBusy before is therefore included, and a later
// adder finds the lock of the delivery free.
func (d *delivery) next(ctx context.Context, end func()) (next []record, err error) {
	err = d.q.change(func(f *file) error {
		d.pay(f)
		for _, r := range f.waiting {
			if r.number > d.tried && ctx.Err() == nil {
				next = append(next, r)
			}
		}
		if len(next) > 0 {
			return nil
		}
		defer end()
		return f.shrink()
	})
	return next, err
}

// hand sends one entry, unless an earlier one of its party waits.
func (d *delivery) hand(ctx context.Context, r record) error {
	d.tried = r.number
	e, err := r.entry()
	if err != nil {
		d.bad = errors.Join(d.bad, err)
		return nil
	}
	if ctx.Err() != nil || d.away[e.Control] || d.behind[partyOf(e)] {
		return nil
	}
	switch d.send(ctx, e) {
	case Later:
		d.behind[partyOf(e)] = true
	case Away:
		d.away[e.Control] = true
	case Settled:
		return d.settled(e.Number, d.q.settle(e.Number))
	}
	return nil
}

// settled handles the error of settling an entry. A full disk is no reason to keep the entry:
// emptying the file needs no space.
func (d *delivery) settled(number uint64, err error) error {
	if folder.IsFull(err) {
		d.owed = append(d.owed, number)
		return nil
	}
	return err
}

// pay removes the owed entries from the waiting ones, and records them if there is space
// now.
func (d *delivery) pay(f *file) {
	d.owed = slices.DeleteFunc(d.owed, func(number uint64) bool {
		r := record{kind: kindSettled, number: number}
		if f.append(r) == nil {
			return true
		}
		f.note(r)
		return false
	})
}

// settle records that an entry no longer waits. The record is not synced: if a crash loses
// it, the entry is sent again.
func (q *Queue) settle(number uint64) error {
	return q.change(func(f *file) error {
		return f.append(record{kind: kindSettled, number: number})
	})
}

// Behind reports whether an entry of reporter for the daemon at control waits, so that
// further ones must wait too.
func (q *Queue) Behind(control, reporter string) (bool, error) {
	waiting, err := q.List()
	return slices.ContainsFunc(waiting, func(e Entry) bool { return partyOf(e) == party{control, api.FoldReporter(reporter)} }), err
}
