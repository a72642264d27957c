package milter

import (
	"errors"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// turns say which message is judged next: as many are judged at a time as there are
// processors, since many costly ones side by side would all pass their deadlines
// together. The others wait, each SMTP client in a line of its own, and the lines
// take turns. So whoever sends many costly messages waits for them himself, and a
// message of somebody else is held up by one message of each other client at most.
//
// All methods are safe for concurrent use.
type turns struct {
	run func(func()) // starts a goroutine

	mu      sync.Mutex
	all     int // processors
	free    int // those that judge nothing
	lines   map[netip.Prefix]*line
	order   []*line       // each line once; the first one's turn is next
	waiting int           // in all lines
	limit   time.Duration // for a message, as asked last
	mean    time.Duration // of the latest judgements; see took

	latest [latestTurns]time.Duration // a ring
	taken  int                        // judgements so far
}

// latestTurns is of how many judgements the mean is.
const latestTurns = 32

// line is the messages of one client that wait. It has at least one.
type line struct {
	client netip.Prefix
	turns  []*turn
	given  int // turns it got so far
}

// turn is a message's place in the order.
type turn struct {
	work    func()
	refused chan struct{} // closed when the place is lost, for err; nil: it began at once

	// Guarded by turns.mu, but err, which stands when refused is closed.
	err     error
	line    *line     // where it waits; nil: not, or no longer
	given   int       // line.given when it came
	starved bool      // its line got no turn while it waited
	begun   time.Time // zero: not yet, or never
}

var (
	errNoRoom    = errors.New("more messages wait than can be judged in time")
	errSuspended = errors.New("judging is suspended")
)

func newTurns(processors int, run func(func())) *turns {
	return &turns{run: run, all: processors, free: processors, lines: make(map[netip.Prefix]*line)}
}

// lineOf is whose messages share a line: an IPv4 address, or an IPv6 network of 64
// bits, which is what one host has at its disposal.
func lineOf(client netip.Addr) netip.Prefix {
	if client.Is6() {
		p, _ := client.Prefix(64) // of a valid address there is one
		return p
	}
	return netip.PrefixFrom(client, client.BitLen())
}

// ask runs work in a goroutine of its own when it is the message's turn. Limit is how
// long a message waits and is judged at most; if more wait than can be judged in half
// of that, the last message of the longest line loses its place.
func (t *turns) ask(client netip.Addr, limit time.Duration, work func()) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := &turn{work: work}
	if t.free > 0 {
		t.begin(x)
		return x
	}
	x.refused = make(chan struct{})
	key := lineOf(client)
	l := t.lines[key]
	if l == nil {
		l = &line{client: key}
		t.lines[key] = l
		t.order = append(t.order, l)
	}
	x.line, x.given = l, l.given
	l.turns = append(l.turns, x)
	t.waiting++
	t.limit = limit
	t.shed()
	return x
}

// shed takes places away until there is room for all who wait. The caller holds mu.
func (t *turns) shed() {
	for t.waiting > t.room(t.limit) {
		t.refuse(t.lastOfLongest(), errNoRoom)
	}
}

// room is how many may wait. The caller holds mu.
func (t *turns) room(limit time.Duration) int {
	judged := int64(limit/2) / max(1, int64(t.mean)) * int64(t.all)
	return int(min(max(int64(t.all), judged), math.MaxInt32))
}

// lastOfLongest is who came last in the longest line; of several as long, in that
// which will wait longest. The caller holds mu.
func (t *turns) lastOfLongest() *turn {
	longest := t.order[0]
	for _, l := range t.order {
		if len(l.turns) >= len(longest.turns) {
			longest = l
		}
	}
	return longest.turns[len(longest.turns)-1]
}

// begin gives x a free processor. The caller holds mu.
func (t *turns) begin(x *turn) {
	t.free--
	x.begun = time.Now()
	t.run(func() {
		defer t.end(x)
		x.work()
	})
}

// end frees x's processor and gives it to the next one.
func (t *turns) end(x *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.took(time.Since(x.begun))
	t.free++
	t.shed() // it may have taken longer than was thought
	if len(t.order) == 0 {
		return
	}
	l := t.order[0]
	next := l.turns[0]
	t.remove(next)
	l.given++
	if len(l.turns) > 0 { // to the end of the order
		t.order = append(t.order[1:], l)
	}
	t.begin(next)
}

// took adds a judgement to the mean. The longest of them are left out, as many as there
// are processors: if the whole machine stands still for a moment, what is judged then
// takes long, which says nothing of the next ones. The caller holds mu.
func (t *turns) took(d time.Duration) {
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

// remove takes x out of its line, and the line away if it is the last. The caller
// holds mu.
func (t *turns) remove(x *turn) {
	l := x.line
	x.line, x.starved = nil, l.given == x.given
	l.turns = slices.DeleteFunc(l.turns, func(y *turn) bool { return y == x })
	t.waiting--
	if len(l.turns) == 0 {
		delete(t.lines, l.client)
		t.order = slices.DeleteFunc(t.order, func(m *line) bool { return m == l })
	}
}

// refuse takes x's place away. The caller holds mu.
func (t *turns) refuse(x *turn, err error) {
	t.remove(x)
	x.err = err
	close(x.refused)
}

// refuseAll takes the place of everybody who waits.
func (t *turns) refuseAll(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.order) > 0 {
		t.refuse(t.order[0].turns[0], err)
	}
}

// leave gives the place up, if x still waits. It returns when judging began, zero for
// never, and whether x's client got no turn at all while x waited.
func (t *turns) leave(x *turn) (begun time.Time, starved bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.line != nil {
		t.remove(x)
	}
	return x.begun, x.starved
}

// state is how many messages wait and are judged.
func (t *turns) state() (waiting, judging int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting, t.all - t.free
}
