package turns

import (
	"slices"
	"time"
)

// A large message beyond its quantum keeps its memory only within lateBound. Otherwise it is
// stopped once it has used its quantum of processor time, gives its memory back, and begins
// again when there is room within lateBound. So expensive mail waits for expensive mail, and
// does not keep the memory that other large mail needs. The caller of all functions holds
// Turns.mu.

// isLateFrom reports whether a message that begins now is late from the beginning: it was
// stopped before, or its network is set back. An envelope sender that is set back does not
// count, because the senders of expensive mail can forge that of others.
func (t *Turns) isLateFrom(x *Turn, now time.Time) bool {
	return x.wasStopped || slices.ContainsFunc(x.ids, func(id identity) bool { return id.sender == "" && t.has(id, now) })
}

// keepsMemory reports whether x, beyond its quantum, may keep its memory. It books the memory
// as that of a late message if it can.
func (t *Turns) keepsMemory(x *Turn) bool {
	if x.lateMemory || !isLarge(x.memory) {
		return true
	}
	if !t.judging.hasLateRoom(x.memory) {
		return false
	}
	t.judging.give(x.memory, false)
	t.judging.take(x.memory, true)
	x.lateMemory = true
	return true
}

// bound stops x, beyond its quantum, if it may not keep its memory. A message that is slow
// only because others run beside it first gets its quantum of processor time.
func (t *Turns) bound(x *Turn) {
	if t.keepsMemory(x) {
		return
	}
	t.work.advance(time.Now(), t.all)
	if left := x.Quantum - (t.work.done - x.cost); left > 0 {
		x.timer.Reset(max(left, x.Quantum/8)) // its share of left would never end
		return
	}
	t.stop(x)
}

// stop stops signing x, and unpacking it.
func (t *Turns) stop(x *Turn) {
	x.Stage.stopSigning()
	if x.stop != nil && x.isLate { // otherwise holdLate has closed it
		close(x.stop)
	}
}

// again returns x, which was stopped, to the end of its client's line.
func (t *Turns) again(x *Turn) {
	x.wasStopped, x.short = true, x.hurried
	x.begun, x.over, x.ended, x.lateMemory = time.Time{}, false, false, false
	l := t.lineFor(x)
	l.turns = append(l.turns, x)
	t.waiting++
}
