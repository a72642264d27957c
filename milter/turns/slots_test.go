package turns

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// packedMail is a test message with its signing time before it is unpacked, and for
// unpacking it once.
type packedMail struct {
	client         string
	before, unpack time.Duration
	pause          time.Duration // until the next message arrives
}

// packing is turns in a bubble for such messages.
type packing struct {
	*Turns
	mu     sync.Mutex
	inside map[*packedTurn]bool // turns with a slot
	most   int                  // at a time
	ended  []*packedTurn
}

// packedTurn is the outcome of a message.
type packedTurn struct {
	*Turn
	name    string
	signing time.Duration // of all attempts to unpack, without waiting
	charged time.Duration // signing, with that of a judgement that was stopped
	stopped int
	end     time.Time
}

func newPacking(processors int) *packing {
	return &packing{Turns: New(processors, func(judge func()) { go judge() }), inside: map[*packedTurn]bool{}}
}

// ask requests a turn for a message that behaves like signature.ComputeWith.
func (p *packing) ask(name string, m packedMail) *packedTurn {
	x, at := &packedTurn{name: name}, new(Stage)
	x.Turn = p.Turns.Ask(Request{
		Client: netip.MustParseAddr(m.client), Size: 1000, Limit: time.Hour, Stage: at,
		Judge: func(bool) {
			at.EnterSigning()
			time.Sleep(m.before)
			x.signing, x.stopped = m.before, 0
			for p.attempt(x, at, m.unpack) && !at.IsStopped() {
				x.stopped++
			}
			x.charged += x.signing
			if !at.EnterOurs() {
				return // it begins again
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			x.end = time.Now()
			p.ended = append(p.ended, x)
		},
	})
	synctest.Wait()
	return x
}

// attempt unpacks once. It reports whether it was stopped.
func (p *packing) attempt(x *packedTurn, at *Stage, d time.Duration) (stopped bool) {
	stop, done := at.unpack()
	defer done()
	p.mu.Lock()
	p.inside[x] = true
	p.most = max(p.most, len(p.inside))
	p.mu.Unlock()
	begun := time.Now()
	select {
	case <-stop:
		stopped = true
	case <-time.After(d):
	}
	p.mu.Lock()
	x.signing += time.Since(begun)
	delete(p.inside, x)
	p.mu.Unlock()
	return stopped
}

// pass lets time pass until everything due has happened.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// names returns the judged messages, in order.
func (p *packing) names() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.ended {
		names = append(names, x.name)
	}
	return names
}

// occupied returns the slots and processors in use, and the messages waiting for a slot.
type occupied struct{ used, late, free, parked, queued int }

func (p *packing) occupied() occupied {
	p.Turns.mu.Lock()
	defer p.Turns.mu.Unlock()
	return occupied{p.used, p.usedLate, p.free, p.parked, len(p.queue)}
}

// setBackOf returns for how long a client is still set back.
func (p *packing) setBackOf(client string) time.Duration {
	p.Turns.mu.Lock()
	defer p.Turns.mu.Unlock()
	id := identity{network: lineOf(netip.MustParseAddr(client))}
	if p.setbacks.running[id] > 0 {
		return longestSetback
	}
	return max(0, time.Until(p.until[id]))
}

// Eight messages of eight senders take ten seconds each to unpack. An innocent one with an
// archive is judged meanwhile, in a turn of its own, and its sender is not charged.
func TestHostileArchives(t *testing.T) {
	for _, processors := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(processors), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPacking(processors)
				var hostile []*packedTurn
				for i := range 8 {
					hostile = append(hostile, p.ask("hostile", packedMail{client: fmt.Sprintf("198.51.%d.1", i), unpack: 10 * time.Second}))
				}
				early := p.ask("early", packedMail{client: "192.0.2.1", before: 10 * time.Millisecond, unpack: 100 * time.Millisecond})
				pass(3 * time.Second) // for each to have its turn
				if names := p.names(); len(names) != 1 || names[0] != "early" {
					t.Errorf("after a round judged %v, want the innocent one", names)
				}
				want := occupied{used: maxUnpackingLate, late: maxUnpackingLate, free: processors, queued: len(hostile) - maxUnpackingLate}
				if got := p.occupied(); got != want {
					t.Errorf("slots and processors %+v, want %+v", got, want)
				}
				late := p.ask("late", packedMail{client: "192.0.2.2", before: 10 * time.Millisecond, unpack: 100 * time.Millisecond})
				pass(111 * time.Millisecond)
				if names := p.names(); len(names) != 2 || names[1] != "late" {
					t.Errorf("as soon as it can be, judged %v", names)
				}
				for _, x := range []*packedTurn{early, late} {
					if x.over || x.stopped != 0 || p.setBackOf(x.Client.String()) != 0 {
						t.Errorf("%s: beyond its quantum %v, stopped %d times, set back for %v", x.name, x.over, x.stopped, p.setBackOf(x.Client.String()))
					}
				}
				pass(time.Minute)
				if len(p.names()) != 10 || p.most > maxUnpacking {
					t.Errorf("judged %v, %d at a time", p.names(), p.most)
				}
				for _, x := range hostile {
					if !x.over || x.stopped > 1 {
						t.Errorf("hostile: beyond its quantum %v, stopped %d times", x.over, x.stopped)
					}
				}
			})
		})
	}
}

// A flood of one client's archives, all within their quantum, uses one slot after another,
// but alternates with another client's.
func TestArchivesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacking(8)
		for range 40 {
			p.ask("flood", packedMail{client: "198.51.100.1", unpack: 200 * time.Millisecond})
		}
		p.ask("other", packedMail{client: "192.0.2.1", unpack: 10 * time.Millisecond})
		pass(time.Minute)
		names := p.names()
		for i, name := range names {
			if name == "other" && i > 2*maxUnpacking {
				t.Errorf("judged as number %d of %d", i+1, len(names))
			}
		}
		if len(names) != 41 || p.most != maxUnpacking || p.setBackOf("198.51.100.1") != 0 {
			t.Errorf("%d judged, %d unpacked at a time, set back for %v", len(names), p.most, p.setBackOf("198.51.100.1"))
		}
	})
}

// A message that waits for a slot keeps its place when others are refused. When it leaves,
// Leave reports to its session that it had begun.
func TestLeavingTheWaitForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacking(5)
		for i := range maxUnpacking {
			p.ask("other", packedMail{client: fmt.Sprintf("198.51.%d.1", i), unpack: 200 * time.Millisecond})
		}
		asked := time.Now()
		x := p.ask("waits", packedMail{client: "192.0.2.1", unpack: 100 * time.Millisecond})
		p.RefuseAll(errTest)
		p.Hurry(x.Turn)
		pass(50 * time.Millisecond)
		if waiting, judging, overtime := p.State(); waiting != 1 || judging != maxUnpacking || overtime != 0 || x.short {
			t.Errorf("%d wait, %d are judged, %d beyond their quantum; short %v", waiting, judging, overtime, x.short)
		}
		abandoned := false
		left := p.Leave(x.Turn, func() { abandoned = true })
		if left.Begun.Sub(asked) != 50*time.Millisecond || !left.IsRunning || left.IsOurFault {
			t.Errorf("judging began after %v: %+v", left.Begun.Sub(asked), left)
		}
		pass(time.Second)
		if !abandoned || len(p.names()) != maxUnpacking+1 {
			t.Errorf("abandoned %v, judged %v", abandoned, p.names())
		}
	})
}

// Every message is judged within the slots. Only messages that were signed for that long
// are beyond their quantum, and no sender is charged for more than its own signing.
func TestSlotsBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		processors := rapid.IntRange(1, 8).Draw(rt, "processors")
		ms := func(rt *rapid.T, most int, name string) time.Duration {
			// Odd, so that no two events coincide.
			return time.Duration(rapid.IntRange(0, most).Draw(rt, name))*time.Millisecond + 7*time.Microsecond
		}
		mail := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) packedMail {
			m := packedMail{client: fmt.Sprintf("10.0.%d.1", rapid.IntRange(0, 5).Draw(rt, "client")),
				before: ms(rt, 100, "before"), unpack: ms(rt, 300, "unpack"), pause: ms(rt, 200, "pause")}
			if rapid.Bool().Draw(rt, "hostile") {
				m.unpack *= 10
			}
			return m
		}), 1, 40).Draw(rt, "mail")
		fault := ""
		synctest.Test(t, func(*testing.T) { fault = playPacking(processors, mail) })
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

// playPacking returns a description of the fault, or "".
func playPacking(processors int, mail []packedMail) (fault string) {
	p := newPacking(processors)
	var all []*packedTurn
	for _, m := range mail {
		all = append(all, p.ask("m", m))
		pass(m.pause)
		o := p.occupied()
		if o.used > maxUnpacking || o.late > min(o.used, maxUnpackingLate) || o.free < 0 || o.free > processors {
			fault = fmt.Sprintf("slots and processors %+v", o)
		}
		if o.used < maxUnpacking && (o.free > 0 && o.parked > 0 || o.late < maxUnpackingLate && o.queued > 0) {
			fault = fmt.Sprintf("a message waits although its resources are free: %+v", o)
		}
	}
	pass(time.Hour)
	if p.most > maxUnpacking || len(p.names()) != len(all) {
		return fmt.Sprintf("%d unpacked at a time, %d of %d judged", p.most, len(p.names()), len(all))
	}
	mayBeSetBack := map[identity]time.Time{}
	for _, x := range all {
		for _, id := range x.ids {
			if until := x.end.Add(setbackFactor * x.charged); (x.over || x.wasStopped) && until.After(mayBeSetBack[id]) {
				mayBeSetBack[id] = until
			}
		}
		if isLong := x.signing >= Quantum; x.over != isLong || x.stopped > 1 || x.stopped > 0 && !x.over {
			fault = fmt.Sprintf("signed for %v: beyond its quantum %v, stopped %d times", x.signing, x.over, x.stopped)
		}
	}
	for id, until := range p.until {
		if until.After(mayBeSetBack[id]) {
			fault = fmt.Sprintf("%v is set back until %v, want %v at most", id.network, until, mayBeSetBack[id])
		}
	}
	if waiting, judging, overtime := p.State(); waiting+judging+overtime+p.used+p.usedLate+len(p.queue)+p.work.running != 0 {
		fault = fmt.Sprintf("at the end %d wait, %d are judged, %d beyond their quantum; slots %+v", waiting, judging, overtime, p.slots)
	}
	return fault
}
