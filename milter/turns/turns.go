package turns

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Turns decides which message is judged next. Its methods are safe for concurrent use.
type Turns struct {
	run func(func()) // starts a goroutine

	mu      sync.Mutex
	all     int // processors
	free    int // idle processors
	lines   map[netip.Prefix]*line
	order   []*line       // each line once; the first one is next
	waiting int           // in all lines, without parked ones
	parked  int           // in all lines: those that have begun and wait for a slot
	late    int           // messages beyond their quantum, including those that wait for a slot
	granted int           // turns, modulo secondClass
	limit   time.Duration // for a message, as most recently requested
	mean    time.Duration // of the latest turns; see took
	holding map[*Turn]struct{}
	judging judgingMemory
	slots
	setbacks
	work

	latest [latestTurns]time.Duration // a ring
	taken  int                        // turns so far
}

// Quantum is how long a message may keep others from a processor. Ordinary mail takes a
// hundredth of it; ten megabytes of attachments take about as much.
const Quantum = 250 * time.Millisecond

// Small is the size up to which a message is small. Of a larger one only that much is judged
// if time is short. Unit: bytes.
const Small = 64 << 10

const (
	// latestTurns is the number of recent turns averaged in Turns.mean.
	latestTurns = 32
	// secondClass is the number of turns in which a message of a set-back sender precedes
	// others once, so that it is judged even under load.
	secondClass = 8
	// leastSlice is the part of its quantum that a message has under any load.
	leastSlice = 16
)

// line is the queue of one client. It contains at least one message.
type line struct {
	client netip.Prefix
	turns  []*Turn // those that have begun and wait for a slot come first
	begun  int     // number of turns that have begun
	given  int     // turns granted so far
}

// fresh returns how many messages in the line have not begun.
func (l *line) fresh() int { return len(l.turns) - l.begun }

// network returns the usual assignment to one customer: a client's IPv4 address, or its
// IPv6 network of 48 bits.
func (l *line) network() netip.Prefix {
	if l.client.Addr().Is6() {
		p, _ := l.client.Addr().Prefix(networkBits6) // a valid address has one
		return p
	}
	return l.client
}

// New returns turns for that many messages at a time. Run starts a goroutine.
func New(processors int, run func(func())) *Turns {
	return &Turns{run: run, all: processors, free: processors, lines: make(map[netip.Prefix]*line),
		holding: make(map[*Turn]struct{}), setbacks: newSetbacks()}
}

// lineOf returns the network whose messages share a line: an IPv4 address, or an IPv6
// network of 64 bits, which one host controls.
func lineOf(client netip.Addr) netip.Prefix {
	if client.Is6() {
		p, _ := client.Prefix(64) // a valid address has one
		return p
	}
	return netip.PrefixFrom(client, client.BitLen())
}

// Ask runs r.Judge in a goroutine of its own when the message's turn comes. If more
// messages wait than can be judged in half of r.Limit, the last message of the longest line
// is refused.
func (t *Turns) Ask(r Request) *Turn {
	if r.Stage == nil {
		r.Stage = new(Stage)
	}
	r.Quantum, r.Client = cmp.Or(r.Quantum, Quantum), original(r.Client)
	x := &Turn{Request: r, ids: identitiesOf(r.Client, r.Sender), refused: make(chan struct{}), overtime: make(chan struct{})}
	x.Stage.unpack = func() (<-chan struct{}, func()) { return t.unpack(x) }
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lineFor(x)
	l.turns = append(l.turns, x)
	t.waiting++
	t.limit = r.Limit
	t.fill()
	t.shed()
	return x
}

// lineFor returns the line of x's client, for x to be added. The caller holds mu.
func (t *Turns) lineFor(x *Turn) *line {
	key := lineOf(x.Client)
	l := t.lines[key]
	if l == nil {
		l = &line{client: key}
		t.lines[key] = l
		t.order = append(t.order, l)
	}
	x.line, x.given = l, l.given
	return l
}

// fill gives the free processors to waiting messages. The caller holds mu.
func (t *Turns) fill() {
	for t.free > 0 {
		now := time.Now()
		x := t.next(now)
		if x == nil {
			return
		}
		l := x.line
		t.remove(x)
		l.given++
		if len(l.turns) > 0 { // move to the end of the order
			t.order = append(slices.DeleteFunc(t.order, func(m *line) bool { return m == l }), l)
		}
		t.granted = (t.granted + 1) % secondClass
		if x.begun.IsZero() {
			t.begin(x, now)
		} else {
			t.resume(x)
		}
	}
}

// next returns the message whose turn it is, among those that can begin. Senders that are
// not set back come first, except for one turn in secondClass. The caller holds mu.
func (t *Turns) next(now time.Time) *Turn {
	preferSecond := t.granted == secondClass-1
	var first, second *Turn
	for _, l := range t.order {
		for _, x := range l.turns {
			switch isSetBack := t.isSetBack(x, now); {
			case isSetBack && second != nil, !isSetBack && first != nil, !t.canBegin(x, now):
				continue
			case isSetBack:
				second = x
			default:
				first = x
			}
			if first != nil && !preferSecond || second != nil && preferSecond {
				return x
			}
		}
	}
	if first != nil {
		return first
	}
	return second
}

// canBegin reports whether there is memory for judging x, or a slot if it waits for one. A
// large message waits while another message of its network is beyond its quantum: one network
// may have one such message at a time. A message that was stopped waits while its network has
// mostOvertime of them. The caller holds mu.
func (t *Turns) canBegin(x *Turn, now time.Time) bool {
	if !x.begun.IsZero() {
		return t.hasSlot(x)
	}
	if x.Size > Small && !x.short && t.overtimeOf(x) > 0 || x.wasStopped && t.overtimeOf(x) >= mostOvertime {
		return false
	}
	n := x.needs()
	return t.judging.of(n).hasRoom(n, t.isLateFrom(x, now))
}

// needs returns the memory for judging x.
func (x *Turn) needs() int64 {
	if x.short {
		return signingMemory(min(x.Size, Small))
	}
	return signingMemory(x.Size)
}

// shed refuses messages until all that wait can be judged in time. The caller holds mu.
func (t *Turns) shed() {
	for t.waiting > t.room(t.limit) {
		t.refuse(t.lastOfLongest(), errNoRoom)
	}
}

// room returns how many messages may wait. The caller holds mu.
func (t *Turns) room(limit time.Duration) int {
	judged := int64(limit/2) / max(1, int64(t.mean)) * int64(t.all)
	return int(min(max(int64(t.all), judged), math.MaxInt32))
}

// lastOfLongest returns the last message of the longest line, in the network with the most
// waiting messages. Among equals it picks the line that will wait longest. One customer may
// have 65,536 lines in an IPv6 network, with a message in each. The caller holds mu.
func (t *Turns) lastOfLongest() *Turn {
	fresh := make(map[netip.Prefix]int, len(t.order))
	for _, l := range t.order {
		fresh[l.network()] += l.fresh()
	}
	longest := t.order[0]
	for _, l := range t.order {
		if cmp.Or(cmp.Compare(fresh[l.network()], fresh[longest.network()]), cmp.Compare(l.fresh(), longest.fresh())) >= 0 {
			longest = l
		}
	}
	return longest.turns[len(longest.turns)-1]
}

// begin gives x a free processor. The caller holds mu.
func (t *Turns) begin(x *Turn, now time.Time) {
	t.free--
	t.holding[x] = struct{}{}
	t.work.begin(now, t.all)
	x.begun, x.cost = now, t.work.done
	x.memory, x.lateMemory = x.needs(), t.isLateFrom(x, now)
	x.keeps = x.wasStopped // once is enough
	t.judging.of(x.memory).book(x.memory, x.lateMemory)
	x.Stage.begin()
	x.slice = t.slice(x)
	x.timer = time.AfterFunc(x.slice, func() { t.overrun(x) })
	short := x.short
	t.run(func() {
		defer t.end(x)
		x.Judge(short)
	})
}

// slice returns how long x, which begins now, may keep its processor: its quantum, or less if so
// many wait that they would not all have a turn in time. The caller holds mu.
func (t *Turns) slice(x *Turn) time.Duration {
	fair := t.limit / 8 * time.Duration(t.all) / time.Duration(t.waiting+1)
	return min(x.Quantum, max(x.Quantum/leastSlice, fair))
}

// overrun takes the processor from a message that is still being signed after its slice,
// and the memory if it may not keep that.
func (t *Turns) overrun(x *Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	inTime := time.Since(x.begun) < x.slice // the timer was set before a wait for a slot
	if x.ended || x.isWaiting() || inTime {
		return
	}
	if x.Stage.inOurs() > 0 { // on a busy machine signing may not have begun
		x.timer.Reset(x.slice)
		return
	}
	if !x.over {
		t.yield(x)
	}
	t.bound(x)
	t.fill()
}

// yield takes the processor from a message beyond its quantum. The caller holds mu.
func (t *Turns) yield(x *Turn) {
	x.over = true
	t.late++
	if !x.wasStopped {
		close(x.overtime)
	}
	t.setbacks.begin(x.ids)
	t.holdLate(x)
	delete(t.holding, x)
	t.took(time.Since(x.begun))
	t.free++
}

// end frees x's processor and memory and gives them to the next message.
func (t *Turns) end(x *Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	x.timer.Stop()
	x.ended = true
	t.work.end(now, t.all)
	t.judging.of(x.memory).book(-x.memory, x.lateMemory)
	if x.over {
		t.late--
		t.setbacks.end(x.ids, now, t.work.done-x.cost)
	} else {
		delete(t.holding, x)
		t.took(now.Sub(x.begun))
		t.free++
	}
	switch {
	case x.abandoned != nil:
		x.abandoned()
	case x.Stage.IsStopped():
		t.again(x)
	}
	t.shed() // x may have raised the mean
	t.fill()
}

// took adds a turn to the mean. The mean excludes the longest turns, as many as there are
// processors: if the whole machine stalls for a moment, the turns of that moment are no
// measure of the next ones. The caller holds mu.
func (t *Turns) took(d time.Duration) {
	t.latest[t.taken%latestTurns] = d
	t.taken++
	sorted := t.latest
	n := min(t.taken, latestTurns)
	slices.Sort(sorted[:n])
	n -= min(t.all, n/4)
	sum := time.Duration(0)
	for _, d := range sorted[:n] {
		sum += d
	}
	t.mean = sum / time.Duration(n)
}

// remove removes x from its line, and the line once it is empty. The caller holds mu.
func (t *Turns) remove(x *Turn) {
	l := x.line
	x.line, x.starved = nil, l.given == x.given
	l.turns = slices.DeleteFunc(l.turns, func(y *Turn) bool { return y == x })
	if x.begun.IsZero() {
		t.waiting--
	} else {
		l.begun--
		t.parked--
	}
	if len(l.turns) == 0 {
		delete(t.lines, l.client)
		t.order = slices.DeleteFunc(t.order, func(m *line) bool { return m == l })
	}
}

// refuse removes x from its line for err. The caller holds mu.
func (t *Turns) refuse(x *Turn, err error) {
	t.remove(x)
	x.err = err
	close(x.refused)
}

// RefuseAll refuses every message that has not begun.
func (t *Turns) RefuseAll(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range slices.Clone(t.order) {
		for _, x := range slices.Clone(l.turns[l.begun:]) {
			t.refuse(x, err)
		}
	}
}

// Hurry lets a message that has waited for half of its time begin with less: only its
// beginning is judged. A sender that is set back has a turn for that too.
func (t *Turns) Hurry(x *Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.hurried = x.Size > Small
	if x.line != nil && x.begun.IsZero() && x.hurried {
		x.short = true
		t.fill()
	}
}

// Left describes a message whose session waits no longer.
type Left struct {
	Begun     time.Time // when judging began, plus the time spent waiting for slots; zero: never
	IsRunning bool      // it is still judged
	IsCostly  bool      // it is still judged, or was stopped once

	// IsOurFault reports whether the site is to blame: the message was long in our own part, or
	// its client got no turn because messages in that part hold all processors.
	IsOurFault bool
}

// Leave ends the session's wait for x, whose deadline has come. Abandoned is called at the
// end of x's judgement if that is still running.
func (t *Turns) Leave(x *Turn, abandoned func()) Left {
	t.mu.Lock()
	defer t.mu.Unlock()
	isStuck := func(y *Turn) bool { return y.Stage.inOurs() >= x.Limit/4 }
	left := Left{Begun: x.begun, IsCostly: x.wasStopped}
	switch {
	case x.line != nil && x.begun.IsZero():
		t.remove(x)
		left.IsOurFault = x.starved && t.free == 0
		for y := range t.holding {
			left.IsOurFault = left.IsOurFault && isStuck(y)
		}
	case !x.begun.IsZero() && !x.ended:
		left.IsRunning, left.IsCostly, left.IsOurFault = true, true, isStuck(x)
		x.abandoned = abandoned
		if x.isWaiting() {
			left.Begun = x.begun.Add(time.Since(x.since))
		}
	}
	return left
}

// State returns how many messages wait, are judged, and are beyond their quantum.
func (t *Turns) State() (waiting, judging, overtime int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting + t.parked, t.all - t.free, t.late
}

// Booked returns the number of senders that are set back, and the memory for judging.
func (t *Turns) Booked() (setBack int, memory int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.setbacks.count(time.Now()), t.judging.small.all + t.judging.large.all
}

// HasFree reports whether a processor is free.
func (t *Turns) HasFree() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.free > 0
}
