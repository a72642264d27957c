package turns

import (
	"slices"
	"time"
)

// A message beyond its quantum keeps its memory only within lateBound, and if it is one of
// mostOvertime of its network. Otherwise it is stopped once it has used its part of processor
// time, gives its memory back, and begins again when there is room. So expensive mail waits for
// expensive mail, first for that of its own network, and does not keep the memory that other
// mail needs. The caller of all functions holds Turns.mu.

// mostOvertime is the number of messages beyond their quantum that a network may have at a time,
// with as many more as there are processors while those begin again that were stopped.
const mostOvertime = 4

// isLateFrom reports whether a message that begins now is late from the beginning: it was
// stopped before, or its network is set back. An envelope sender that is set back does not
// count, because the senders of expensive mail can forge that of others.
func (t *Turns) isLateFrom(x *Turn, now time.Time) bool {
	return x.wasStopped || slices.ContainsFunc(x.ids, func(id identity) bool { return id.sender == "" && t.has(id, now) })
}

// keepsMemory reports whether x, beyond its quantum, may keep its memory, then and from then on.
// It books the memory as that of a late message.
func (t *Turns) keepsMemory(x *Turn) bool {
	part := t.judging.of(x.memory)
	switch {
	case x.keeps:
		return true
	case t.overtimeOf(x) > mostOvertime, !x.lateMemory && !part.hasLateRoom(x.memory):
		return false
	case !x.lateMemory:
		part.book(-x.memory, false)
		part.book(x.memory, true)
		x.lateMemory = true
	}
	x.keeps = true
	return true
}

// bound stops x, beyond its quantum, if it may not keep its memory. A message that is slow
// only because others run beside it first gets its quantum of processor time. A small one gets
// half of its slice, several times what ordinary mail takes: in a crowd, each stopped one makes
// room for the next.
func (t *Turns) bound(x *Turn) {
	if t.keepsMemory(x) {
		return
	}
	t.work.advance(time.Now(), t.all)
	least := x.Quantum
	if !isLarge(x.memory) {
		least = x.slice / 2
	}
	if left := least - (t.work.done - x.cost); left > 0 {
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
