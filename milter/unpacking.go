package milter

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/signature"
)

const (
	// maxUnpacking is how many messages have a slot: decode images or unpack archives,
	// with up to 64 MiB each, whatever their own size.
	maxUnpacking = 4
	// maxUnpackingLate is how many of them may be beyond their quantum.
	maxUnpackingLate = 2
)

// slots are the places for messages that are unpacked. Waiting for one is no part of a
// message's quantum, nor of what it costs its sender.
//
//   - Within its quantum a message has any slot that is free. If there is none, it gives
//     its processor away and goes back to its client's line, to the front. Its next turn
//     gives it a processor and a slot.
//   - A message whose quantum ends while it is unpacked goes on if fewer than
//     maxUnpackingLate do that. Otherwise it is stopped, gives its slot back, and is
//     unpacked from the beginning later.
//   - Beyond its quantum a message needs no processor and waits in the queue for one of
//     maxUnpackingLate slots.
//
// So mail that takes long to unpack leaves at least two slots to other mail. A message
// that has a slot waits for nothing, hence there is no deadlock. The caller holds
// turns.mu.
type slots struct {
	used     int     // all
	usedLate int     // by messages beyond their quantum, without those that were stopped
	queue    []*turn // messages beyond their quantum that wait
}

// unpacking is what a turn has of slots. Guarded by turns.mu.
type unpacking struct {
	stop     chan struct{} // closed if the slot is to be given back; nil: it has none
	isLate   bool          // counted in usedLate
	since    time.Time     // when it began to wait for a slot; zero: it does not
	sinceAll time.Duration // work.done then
	granted  chan struct{} // closed when it has waited
}

// waits reports whether it waits for a slot.
func (u *unpacking) waits() bool { return !u.since.IsZero() }

// unpack is signature.Unpacking for x: it waits for a slot.
func (t *turns) unpack(x *turn) (stop <-chan struct{}, done func()) {
	done = func() { t.giveSlot(x) }
	t.mu.Lock()
	if t.hasSlot(x) {
		stop = t.takeSlot(x)
		t.mu.Unlock()
		return stop, done
	}
	granted := t.park(x)
	t.mu.Unlock()
	<-granted
	return x.stop, done // it does not change until done is called
}

// hasSlot reports whether there is a slot for x. The caller holds mu.
func (t *turns) hasSlot(x *turn) bool {
	return t.used < maxUnpacking && (!x.over || t.usedLate < maxUnpackingLate)
}

// takeSlot gives x a slot that is free. The caller holds mu.
func (t *turns) takeSlot(x *turn) (stop chan struct{}) {
	t.used++
	if x.isLate = x.over; x.isLate {
		t.usedLate++
	}
	x.stop = make(chan struct{})
	return x.stop
}

// giveSlot takes x's slot back and gives it to a message that waits for one.
func (t *turns) giveSlot(x *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used--
	if x.isLate {
		t.usedLate--
	}
	x.stop, x.isLate = nil, false
	t.fill() // first, as the queue is of expensive messages
	if len(t.queue) > 0 && t.hasSlot(t.queue[0]) {
		next := t.queue[0]
		t.queue = t.queue[1:]
		t.unpark(next)
	}
}

// holdLate counts the slot of x, whose quantum has ended, as one of those beyond their
// quantum, or stops x if it is one too many. The caller holds mu.
func (t *turns) holdLate(x *turn) {
	switch {
	case x.stop == nil:
	case t.usedLate < maxUnpackingLate:
		t.usedLate++
		x.isLate = true
	default:
		close(x.stop)
	}
}

// park lets x wait for a slot, and gives its processor away. The caller holds mu.
func (t *turns) park(x *turn) (granted <-chan struct{}) {
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
func (t *turns) resume(x *turn) {
	t.free--
	t.holding[x] = struct{}{}
	t.unpark(x)
	x.timer = time.AfterFunc(t.quantum-time.Since(x.begun), func() { t.overrun(x) })
}

// unpark ends x's wait for a slot, which there is now. The caller holds mu.
func (t *turns) unpark(x *turn) {
	now := time.Now()
	t.work.begin(now, t.all)
	x.begun = x.begun.Add(now.Sub(x.since))
	x.cost += t.work.done - x.sinceAll
	x.since = time.Time{}
	t.takeSlot(x)
	close(x.granted)
}

// Sign is signature.Compute for other mail than that of MTAs, such as a trap's. It has no
// turn, and its slot is one of those of messages beyond their quantum, so that it neither
// takes more memory nor delays mail.
func (s *Server) Sign(m signature.Message) signature.Set {
	t, x := s.turns, &turn{over: true}
	t.enter()
	defer t.exit()
	return s.sign(m, func() (<-chan struct{}, func()) { return t.unpack(x) })
}

// enter counts work that has no turn.
func (t *turns) enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.work.begin(time.Now(), t.all)
}

// exit ends it.
func (t *turns) exit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.work.end(time.Now(), t.all)
}
