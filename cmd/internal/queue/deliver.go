package queue

import (
	"context"
	"errors"
	"slices"
	"syscall"
)

// ErrBusy is returned where another process delivers: it takes what was added
// before it ends.
var ErrBusy = errors.New("another process delivers what waits")

// Fate is what became of an entry that was handed to the daemon.
type Fate int

const (
	Settled Fate = iota // the daemon took it, or will never take it
	Later               // not now, nor what else waits of this reporter
	Away                // the daemon takes nothing now
)

// Send hands an entry to the daemon.
type Send func(context.Context, Entry) Fate

// party is who must wait for whom: the order of what one reporter says to one daemon
// is kept.
type party struct{ control, reporter string }

func partyOf(e Entry) party { return party{e.Control, e.Request.Reporter} }

// delivery is one run of Deliver.
type delivery struct {
	q      *Queue
	send   Send
	tried  uint64         // entries up to this number were handed over, or passed over
	behind map[party]bool // who waits since an entry of theirs does
	away   map[string]bool
	bad    error    // entries that cannot be read
	owed   []uint64 // settled, but there was no room to write that
}

// Deliver hands all that waits to send, one after the other and the oldest first,
// also what others add meanwhile. When ctx ends, the rest waits; send is to keep to
// ctx itself. ErrBusy where another process is at it. An entry that cannot be read, as
// a later version may write it, waits on and is an error in the end.
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

// next reads what is to be handed over next. Where that is nothing, it cleans the
// file up and gives the lock of the delivery back, by end. That happens under the lock
// of the file: who added something and was told ErrBusy has it taken along, and who
// adds later finds the lock of the delivery free.
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

// hand hands over one entry, if nothing stands before it.
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
		// A full disk is no reason to keep the rest: emptying the file takes no room.
		if err := d.q.settle(e.Number); errors.Is(err, syscall.ENOSPC) {
			d.owed = append(d.owed, e.Number)
		} else {
			return err
		}
	}
	return nil
}

// pay takes what is owed out of what waits, and writes it where there is room now.
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

// settle notes that an entry does not wait any more. That is not synced: who loses
// it to a crash hands the entry over again.
func (q *Queue) settle(number uint64) error {
	return q.change(func(f *file) error {
		return f.append(record{kind: kindSettled, number: number})
	})
}

// Behind tells whether something waits that reporter says to the daemon at control,
// behind which more of it must wait.
func (q *Queue) Behind(control, reporter string) (bool, error) {
	waiting, err := q.List()
	return slices.ContainsFunc(waiting, func(e Entry) bool { return partyOf(e) == party{control, reporter} }), err
}
