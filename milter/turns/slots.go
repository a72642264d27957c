package turns

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/signature"
)

const (
	// maxUnpacking is the number of slots: messages that decode images or unpack archives
	// at a time, with up to 64 MiB each, whatever their own size.
	maxUnpacking = 4
	// maxUnpackingLate is how many of them may be used by messages beyond their quantum.
	maxUnpackingLate = 2
)

// slots are the permits for unpacking. Waiting for one is not part of a message's quantum,
// nor of its cost to its sender.
//
//   - Within its quantum a message may take any free slot. If there is none, it gives
//     up its processor and returns to the front of its client's line. Its next turn
//     gives it a processor and a slot.
//   - A message whose quantum ends while it is unpacked continues if fewer than
//     maxUnpackingLate such messages do. Otherwise it is stopped, releases its slot, and is
//     unpacked from the beginning later.
//   - Beyond its quantum a message needs no processor and waits in the queue for one of
//     maxUnpackingLate slots.
//
// Mail that takes long to unpack therefore leaves at least two slots to other mail. A
// message with a slot waits for nothing, so there is no deadlock. The caller holds
// Turns.mu.
type slots struct {
	used     int     // slots in use
	usedLate int     // slots of messages beyond their quantum, without stopped ones
	queue    []*Turn // messages beyond their quantum, waiting
}

// unpacking is the slot state of a turn. Guarded by Turns.mu.
type unpacking struct {
	stop     chan struct{} // closed if the slot must be released; nil: it has none
	isLate   bool          // counted in usedLate
	since    time.Time     // when its wait for a slot began; zero: it does not wait
	sinceAll time.Duration // work.done at that time
	granted  chan struct{} // closed at the end of the wait
}

// isWaiting reports whether the turn waits for a slot.
func (u *unpacking) isWaiting() bool { return !u.since.IsZero() }

// unpack implements signature.Unpacking for x: it waits for a slot.
func (t *Turns) unpack(x *Turn) (stop <-chan struct{}, done func()) {
	done = func() { t.giveSlot(x) }
	t.mu.Lock()
	switch {
	case x.Stage.IsStopped():
	case t.hasSlot(x):
		stop = t.takeSlot(x)
		t.mu.Unlock()
		return stop, done
	case !x.over || t.keepsMemory(x):
		granted := t.park(x)
		t.mu.Unlock()
		<-granted
		return x.stop, done // it does not change before done is called
	default: // it would keep its memory while it waits
		t.stop(x)
	}
	t.mu.Unlock()
	return x.Stage.stop, func() {}
}

// hasSlot reports whether there is a slot for x. The caller holds mu.
func (t *Turns) hasSlot(x *Turn) bool {
	return t.used < maxUnpacking && (!x.over || t.usedLate < maxUnpackingLate)
}

// takeSlot gives x a free slot. The caller holds mu.
func (t *Turns) takeSlot(x *Turn) (stop chan struct{}) {
	t.used++
	if x.isLate = x.over; x.isLate {
		t.usedLate++
	}
	x.stop = make(chan struct{})
	return x.stop
}

// giveSlot releases x's slot and gives it to a waiting message.
func (t *Turns) giveSlot(x *Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used--
	if x.isLate {
		t.usedLate--
	}
	x.stop, x.isLate = nil, false
	t.fill() // first, because the queue contains expensive messages
	if len(t.queue) > 0 && t.hasSlot(t.queue[0]) {
		next := t.queue[0]
		t.queue = t.queue[1:]
		t.unpark(next)
	}
}

// holdLate counts the slot of x, whose quantum has ended, in usedLate. It stops x if there
// are too many. The caller holds mu.
func (t *Turns) holdLate(x *Turn) {
	switch {
	case x.stop == nil:
	case t.usedLate < maxUnpackingLate:
		t.usedLate++
		x.isLate = true
	default:
		close(x.stop)
	}
}

// park makes x wait for a slot and releases its processor. The caller holds mu.
func (t *Turns) park(x *Turn) (granted <-chan struct{}) {
	now := time.Now()
	t.work.end(now, t.all)
	x.since, x.sinceAll, x.granted = now, t.work.done, make(chan struct{})
	if x.over {
		t.queue = append(t.queue, x)
		return x.granted
	}
	granted = x.granted // of this wait, which may end at once
	x.timer.Stop()
	delete(t.holding, x)
	l := t.lineFor(x)
	l.turns = slices.Insert(l.turns, l.begun, x)
	l.begun++
	t.parked++
	t.free++
	t.fill()
	return granted
}

// resume gives x a processor and a slot. The caller holds mu.
func (t *Turns) resume(x *Turn) {
	t.free--
	t.holding[x] = struct{}{}
	t.unpark(x)
	x.timer = time.AfterFunc(x.slice-time.Since(x.begun), func() { t.overrun(x) })
}

// unpark ends x's wait for a slot that is now free. The caller holds mu.
func (t *Turns) unpark(x *Turn) {
	now := time.Now()
	t.work.begin(now, t.all)
	x.begun = x.begun.Add(now.Sub(x.since))
	x.cost += t.work.done - x.sinceAll
	x.since = time.Time{}
	t.takeSlot(x)
	close(x.granted)
}

// Beside calls work, which signs mail that does not come from an MTA, such as a trap's. It
// needs no turn, and its slot is one of those of messages beyond their quantum. Therefore
// it neither takes more memory nor delays mail.
func (t *Turns) Beside(work func(signature.Unpacking)) {
	x := &Turn{Request: Request{Stage: new(Stage)}, over: true, keeps: true}
	t.enter()
	defer t.exit()
	work(func() (<-chan struct{}, func()) { return t.unpack(x) })
}

// enter counts work without a turn.
func (t *Turns) enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.work.begin(time.Now(), t.all)
}

// exit ends work counted by enter.
func (t *Turns) exit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.work.end(time.Now(), t.all)
}
