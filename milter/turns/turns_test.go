package turns

import (
	"errors"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// queue is turns with the names of the judged messages, in order. Each is judged until
// release is called.
type queue struct {
	*Turns
	judged []string
	ends   map[string]chan struct{}
}

// errTest is the reason for which the tests refuse messages.
var errTest = errors.New("refused by the test")

func newQueue(processors int) *queue {
	q := &queue{ends: map[string]chan struct{}{}}
	q.Turns = New(processors, func(work func()) { go work() })
	return q
}

// ask requests a turn for a message named by the letter of its client and a number.
func (q *queue) ask(name string) *Turn {
	return q.askFor(netip.AddrFrom4([4]byte{192, 0, 2, name[0]}), name)
}

func (q *queue) askFor(client netip.Addr, name string) *Turn {
	end := make(chan struct{})
	q.ends[name] = end
	x := q.Turns.Ask(Request{Client: client, Limit: time.Hour, Judge: func(bool) {
		q.judged = append(q.judged, name) // one processor
		<-end
	}})
	synctest.Wait()
	return x
}

// left is Leave; starved is the value recorded when x left its line.
func (q *queue) left(x *Turn) (begun time.Time, starved bool) {
	return q.Leave(x, func() {}).Begun, x.starved
}

// release ends all judgements.
func (q *queue) release() {
	for _, end := range q.ends {
		close(end)
	}
	clear(q.ends)
	synctest.Wait()
}

func TestClientsTakeTurns(t *testing.T) {
	for _, test := range []struct {
		name         string
		asked, order []string
	}{
		{"one client", []string{"a1", "a2", "a3"}, []string{"a1", "a2", "a3"}},
		{"a flood before another", []string{"a1", "a2", "a3", "a4", "a5", "b1", "b2"}, []string{"a1", "a2", "b1", "a3", "b2", "a4", "a5"}},
		{"many clients", []string{"a1", "b1", "c1", "a2", "b2", "c2"}, []string{"a1", "b1", "c1", "a2", "b2", "c2"}},
		{"a client that had its turn is last", []string{"a1", "a2", "b1", "c1", "a3"}, []string{"a1", "a2", "b1", "c1", "a3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(1)
				for _, name := range test.asked {
					q.ask(name)
				}
				q.release()
				if !slices.Equal(q.judged, test.order) {
					t.Errorf("judged in the order %v, want %v", q.judged, test.order)
				}
				if waiting, judging, _ := q.State(); waiting+judging != 0 || len(q.lines) != 0 {
					t.Errorf("at the end %d wait, %d are judged, %d lines", waiting, judging, len(q.lines))
				}
			})
		})
	}
}

// A message that leaves costs no other a turn, and reports whether its client got none.
func TestLeavingALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		first, second, third, other := q.ask("a1"), q.ask("a2"), q.ask("a3"), q.ask("b1")
		if begun, _ := q.left(first); begun.IsZero() {
			t.Error("a judged message has not begun")
		}
		if begun, starved := q.left(other); !begun.IsZero() || !starved {
			t.Errorf("a client without a turn: begun %v, starved %v", begun, starved)
		}
		close(q.ends["a1"])
		delete(q.ends, "a1")
		synctest.Wait()
		if begun, starved := q.left(third); !begun.IsZero() || starved {
			t.Errorf("a client that had a turn meanwhile: begun %v, starved %v", begun, starved)
		}
		q.release()
		if begun, starved := q.left(second); begun.IsZero() || !starved {
			t.Errorf("judged after its first wait: begun %v, starved %v", begun, starved)
		}
		if !slices.Equal(q.judged, []string{"a1", "a2"}) {
			t.Errorf("judged %v", q.judged)
		}
	})
}

// A customer's IPv6 network has a line for each of 65,536 hosts. Together they have no more
// room than a client with one address.
func TestNoRoomByNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		q.mean = 10 * time.Minute // the limit is an hour: there is room for three
		var flood []*Turn
		for host := range byte(4) {
			flood = append(flood, q.askFor(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 7: host, 15: 1}), string('1'+rune(host))))
		}
		if other := q.ask("a1"); other.err != nil || flood[2].err != nil || flood[3].err == nil {
			t.Errorf("the client: %v; the network's last two: %v, %v", other.err, flood[2].err, flood[3].err)
		}
		q.release()
		q.release()
		q.release()
		q.release()
	})
}

// Beyond what can be judged in half of the limit, the client with the most messages loses
// its last one.
func TestNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		q.mean = 10 * time.Minute // the limit is an hour: there is room for three
		refused := func(x *Turn) bool {
			select {
			case <-x.refused:
				return true
			default:
				return false
			}
		}
		q.ask("a1")
		waiting := []*Turn{q.ask("a2"), q.ask("a3"), q.ask("a4")}
		b := q.ask("b1")
		if !refused(waiting[2]) || !errors.Is(waiting[2].err, errNoRoom) || refused(waiting[1]) || refused(b) {
			t.Error("the refused message is not the last of the longest line")
		}
		c, d := q.ask("c1"), q.ask("d1")
		if !refused(waiting[1]) || !refused(d) || refused(b) || refused(c) || refused(waiting[0]) {
			t.Error("with lines of equal length, the newest has no room")
		}
		q.RefuseAll(errTest)
		if !refused(waiting[0]) || !refused(b) || !refused(c) || !errors.Is(c.err, errTest) {
			t.Error("a message still waits")
		}
		q.release()
		if !slices.Equal(q.judged, []string{"a1"}) {
			t.Errorf("judged %v", q.judged)
		}
	})
}

func TestRoomFollowsTheCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(4, func(work func()) { go work() })
		if q.room(30*time.Second) < 1e6 {
			t.Error("before the first judgement there is little room")
		}
		for range 50 {
			q.Ask(Request{Limit: time.Minute, Judge: func(bool) { time.Sleep(time.Second) }})
			time.Sleep(2 * time.Second)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if room := q.room(30 * time.Second); room < 60 || room > 64 {
			t.Errorf("four processors, a second each, in 15 s: room for %d", room)
		}
		if room := q.room(time.Second); room != 4 {
			t.Errorf("no message can be judged in time, but there is room for %d", room)
		}
	})
}

// A machine that stalled for a moment does not refuse mail afterwards.
func TestStandstillLeavesRoom(t *testing.T) {
	q := New(4, nil)
	for range 50 {
		q.took(2 * time.Millisecond)
	}
	for range q.all {
		q.took(20 * time.Second)
	}
	if room := q.room(30 * time.Second); room < 20_000 {
		t.Errorf("after four slow judgements among fifty fast ones: room for %d", room)
	}
	for range latestTurns / 2 {
		q.took(20 * time.Second)
	}
	if room := q.room(30 * time.Second); room > 8 {
		t.Errorf("after judging became slow: room for %d", room)
	}
}

// Messages that arrive before the cost of judging is known need not wait in vain.
func TestRoomIsMadeWhenJudgingIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1, func(work func()) { go work() })
		var waiting []*Turn
		for i := range 30 {
			client := netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
			waiting = append(waiting, q.Ask(Request{Client: client, Limit: 30 * time.Second, Judge: func(bool) { time.Sleep(5 * time.Second) }}))
		}
		time.Sleep(16 * time.Second)
		refused := 0
		for _, x := range waiting[1:] {
			select {
			case <-x.refused:
				refused++
			default:
			}
		}
		// The first judgement showed that three more can be judged in half of the limit.
		if left, judging, _ := q.State(); refused != 26 || left != 0 || judging != 1 {
			t.Errorf("%d were turned away, %d wait, %d are judged", refused, left, judging)
		}
		q.RefuseAll(errTest)
		time.Sleep(time.Minute)
	})
}

func TestLineOf(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"2001:db8::1", "2001:db8::2:3", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
	} {
		if same := lineOf(netip.MustParseAddr(test.a)) == lineOf(netip.MustParseAddr(test.b)); same != test.same {
			t.Errorf("%s and %s share a line: %v", test.a, test.b, same)
		}
	}
	if unknown := (netip.Prefix{}); lineOf(netip.Addr{}) != unknown {
		t.Error("clients without an address have lines of their own")
	}
}

// fairModel is turns without goroutines: it computes whose message is judged when.
type fairModel struct {
	free    int
	waiting map[int]int // messages of each client that wait
	order   []int       // clients that wait, the next one first
	begun   []int       // clients, in the order of their turns
}

func (m *fairModel) ask(client int) {
	if m.free > 0 {
		m.free--
		m.begun = append(m.begun, client)
		return
	}
	if m.waiting[client]++; m.waiting[client] == 1 {
		m.order = append(m.order, client)
	}
}

func (m *fairModel) end() {
	m.free++
	if len(m.order) == 0 {
		return
	}
	client := m.order[0]
	m.order = m.order[1:]
	if m.waiting[client]--; m.waiting[client] > 0 {
		m.order = append(m.order, client)
	}
	m.free--
	m.begun = append(m.begun, client)
}

// For any arrivals, as many messages are judged at a time as there are processors, and
// waiting clients take turns.
func TestTurnsAsTheirModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		processors := rapid.IntRange(1, 3).Draw(t, "processors")
		m := fairModel{free: processors, waiting: map[int]int{}}
		var running sync.WaitGroup
		q := New(processors, running.Go)
		var mu sync.Mutex
		var begun []int
		var judged []chan struct{}
		step := func() { // until the goroutines have caught up with the model
			for {
				_, judging, _ := q.State()
				mu.Lock()
				n := len(begun)
				mu.Unlock()
				if n == len(m.begun) && judging == processors-m.free {
					return
				}
				runtime.Gosched()
			}
		}
		end := func() {
			i := rapid.IntRange(0, len(judged)-1).Draw(t, "which")
			over := judged[i]
			judged = slices.Delete(judged, i, i+1) // before the next one is added
			m.end()
			close(over)
			step()
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(judged) > 0 && rapid.Bool().Draw(t, "one ends") {
				end()
				continue
			}
			client := rapid.IntRange(1, 4).Draw(t, "client")
			m.ask(client)
			q.Ask(Request{Client: netip.AddrFrom4([4]byte{10, 0, 0, byte(client)}), Limit: time.Hour, Judge: func(bool) {
				over := make(chan struct{})
				mu.Lock()
				begun, judged = append(begun, client), append(judged, over)
				mu.Unlock()
				<-over
			}})
			step()
		}
		for len(judged) > 0 {
			end()
		}
		running.Wait()
		if !slices.Equal(begun, m.begun) {
			t.Errorf("turns of %v, want %v", begun, m.begun)
		}
	})
}
