package turns

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// desk is turns in a bubble, and the messages judged, in order.
type desk struct {
	*Turns
	judged  []string // guarded by Turns.mu
	stopped int      // judgements that were stopped and began again; guarded by Turns.mu
}

// order returns the messages judged since the last call of forget.
func (d *desk) order() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.judged)
}

func (d *desk) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.judged = nil
}

// inside returns the booked memory and the free processors.
func (d *desk) inside() (memory judgingMemory, free int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.judging, d.free
}

func newDesk(processors int) *desk {
	return &desk{Turns: New(processors, func(judge func()) { go judge() })}
}

// setBack returns the number of set-back senders.
func (d *desk) setBack() int {
	n, _ := d.Booked()
	return n
}

// bookedNow returns the memory booked for judging.
func (d *desk) bookedNow() int64 {
	_, n := d.Booked()
	return n
}

// ask requests a turn for a message that is signed for that time. "short" marks messages
// that are judged on their beginning.
func (d *desk) ask(name, client, sender string, size int64, signing time.Duration) *Turn {
	at := new(Stage)
	x := d.Turns.Ask(Request{
		Client: netip.MustParseAddr(client), Sender: sender, Size: size, Limit: time.Minute, Stage: at,
		Judge: func(short bool) {
			if short {
				name += " short"
			}
			d.mu.Lock()
			d.judged = append(d.judged, name)
			d.mu.Unlock()
			at.EnterSigning()
			select {
			case <-time.After(signing):
			case <-at.stop:
			}
			if !at.EnterOurs() {
				d.mu.Lock()
				d.stopped++
				d.mu.Unlock()
			}
		},
	})
	synctest.Wait()
	return x
}

// The sender of a message beyond its turn is set back in all its identities, for ten times
// the time taken: others go first.
func TestSetBack(t *testing.T) {
	for _, c := range []struct {
		name, bomb, client, sender string
		isSetBack                  bool
	}{
		{"client", "198.51.100.1", "198.51.100.1", "other@example.org", true},
		{"network", "198.51.100.1", "198.51.100.200", "other@example.org", true},
		{"other network", "198.51.100.1", "198.51.101.1", "other@example.org", false},
		{"sender", "198.51.100.1", "203.0.113.1", "BOMB@example.org", true},
		{"bounce", "198.51.100.1", "203.0.113.1", "", false},
		{"IPv6", "198.51.100.1", "2001:db8::1", "", false},
		{"client of IPv6", "2001:db8::1", "2001:db8::2:3", "", true},
		{"network of IPv6", "2001:db8::1", "2001:db8:0:ffff::1", "", true},
		{"other network of IPv6", "2001:db8::1", "2001:db8:1::1", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(1)
				d.ask("bomb", c.bomb, "bomb@example.org", 1000, 10*time.Second)
				time.Sleep(time.Second)
				if n := d.setBack(); n != 3 {
					t.Errorf("%d are set back, want client, network and sender", n)
				}
				expect := func(when string, want bool) {
					t.Helper()
					d.forget()
					d.ask("busy", "192.0.2.1", "busy@example.org", 1000, time.Millisecond) // holds the processor
					d.ask("first", c.client, c.sender, 1000, 0)
					d.ask("second", "192.0.2.2", "second@example.org", 1000, 0)
					time.Sleep(time.Second)
					order := []string{"busy", "first", "second"}
					if want {
						order = []string{"busy", "second", "first"}
					}
					if !slices.Equal(d.order(), order) {
						t.Errorf("%s: judged %v, want %v", when, d.order(), order)
					}
				}
				expect("meanwhile", c.isSetBack)
				time.Sleep(10 * time.Second)
				expect("afterwards", c.isSetBack)
				time.Sleep(110 * time.Second)
				expect("long afterwards", false)
				if n := d.setBack(); n != 0 {
					t.Errorf("%d are still set back", n)
				}
			})
		})
	}
}

// A message beyond its turn delays large mail of its own network, and none from elsewhere that has
// the same envelope sender: that may be forged.
func TestForgedSenderDelaysNoLargeMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		d.ask("forged", "198.51.100.1", "news@bank.example", 1<<20, 10*time.Second)
		time.Sleep(time.Second)
		d.ask("neighbour", "198.51.100.2", "other@example.org", 1<<20, 0)
		d.ask("bank", "192.0.2.1", "news@bank.example", 1<<20, 0)
		if want := []string{"forged", "bank"}; !slices.Equal(d.order(), want) {
			t.Errorf("judged %v, want %v", d.order(), want)
		}
		time.Sleep(10 * time.Second)
		if want := []string{"forged", "bank", "neighbour"}; !slices.Equal(d.order(), want) {
			t.Errorf("afterwards: judged %v, want %v", d.order(), want)
		}
	})
}

// A message that could not begin within its quantum because the machine was busy exceeds
// its turn like any other that is signed for long.
func TestLateBeginDoesNotCircumventTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		at := new(Stage)
		d.Turns.Ask(Request{Client: netip.MustParseAddr("198.51.100.1"), Limit: time.Minute, Stage: at, Judge: func(bool) {
			time.Sleep(2 * Quantum) // until the machine runs it
			at.EnterSigning()
			time.Sleep(10 * time.Second)
		}})
		d.ask("other", "192.0.2.1", "", 1000, 0)
		time.Sleep(time.Second)
		if order := d.order(); !slices.Equal(order, []string{"other"}) || d.setBack() != 2 {
			t.Errorf("meanwhile judged %v, set back %d, want client and network", order, d.setBack())
		}
		time.Sleep(time.Minute)
	})
}

// The users of a door have turns of their own: one who sends expensive mail sets back no other.
func TestUsersOfADoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		anna, bob := PlaceOf("anna").String(), PlaceOf("bob").String()
		d.ask("bomb", anna, "", Small, time.Hour)
		time.Sleep(time.Second)
		d.forget()
		d.ask("busy", "192.0.2.1", "", 1000, time.Millisecond) // holds the processor
		for range 3 {
			d.ask("anna", anna, "", 1000, 0)
		}
		d.ask("bob", bob, "", 1<<20, 0)
		time.Sleep(time.Second)
		if want := []string{"busy", "bob", "anna", "anna", "anna"}; !slices.Equal(d.order(), want) {
			t.Errorf("judged %v, want %v", d.order(), want)
		}
		time.Sleep(time.Hour)
	})
}

// One turn in eight goes to a set-back sender first, so that no load of others prevents its
// mail from being judged.
func TestSetBackIsJudgedUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		d.ask("bomb", "198.51.100.1", "", 1000, time.Hour)
		time.Sleep(time.Second)
		d.forget()
		for i := range 3 * secondClass {
			d.ask("other", fmt.Sprintf("192.0.2.%d", i), "", 1000, time.Millisecond)
		}
		d.ask("set back", "198.51.100.1", "", 1000, 0)
		time.Sleep(time.Second)
		if i := slices.Index(d.order(), "set back"); i < 0 || i > secondClass {
			t.Errorf("judged %v", d.order())
		}
		time.Sleep(time.Hour)
	})
}

// A sender has one large message at a time beyond its turn. Its other large messages are
// judged on their beginning once half of their time has passed, its small ones at once.
func TestLargeMailOfOneSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(2)
		d.ask("bomb", "198.51.100.1", "", 1<<20, time.Hour)
		time.Sleep(time.Second)
		large := d.ask("large", "198.51.100.2", "", 1<<20, 0)
		d.ask("small", "198.51.100.1", "", Small, 0)
		d.ask("other", "192.0.2.1", "", 1<<20, 0)
		if want := []string{"bomb", "small", "other"}; !slices.Equal(d.order(), want) {
			t.Errorf("judged %v, want %v", d.order(), want)
		}
		d.Hurry(large)
		synctest.Wait()
		if want := []string{"bomb", "small", "other", "large short"}; !slices.Equal(d.order(), want) {
			t.Errorf("in a hurry: judged %v, want %v", d.order(), want)
		}
		time.Sleep(time.Hour)
		d.ask("next", "198.51.100.1", "", 1<<20, 0)
		if last := d.order()[len(d.order())-1]; last != "next" {
			t.Errorf("last message judged after the bomb: %q", last)
		}
	})
}

// Large messages beyond their turn use no memory that small ones need, and of that for large
// ones half. A message that needs more than the bound is judged alone.
func TestJudgingMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		for i := range 20 {
			d.ask("bomb", fmt.Sprintf("10.0.%d.1", i), "", 10<<20, time.Hour)
			time.Sleep(time.Second)
		}
		memory, _ := d.inside()
		if waiting, _, overtime := d.State(); waiting != 19 || overtime != 1 || memory.large != (booked{signingMemory(10 << 20), signingMemory(10 << 20)}) {
			t.Errorf("%d large messages wait, %d are judged, with %+v", waiting, overtime, memory)
		}
		d.forget()
		d.ask("small", "192.0.2.1", "", 1000, 0)
		d.ask("large", "192.0.2.2", "", 10<<20, 0)
		if !slices.Equal(d.order(), []string{"small", "large"}) {
			t.Errorf("judged %v", d.order())
		}
		d.RefuseAll(errTest)
		d.ask("huge", "192.0.2.1", "", 1<<30, 0)
		if got := d.order(); len(got) != 2 {
			t.Errorf("a huge message is judged beside others: %v", got)
		}
		time.Sleep(2 * time.Hour)
		if !slices.Equal(d.order(), []string{"small", "large", "huge"}) || d.bookedNow() != 0 {
			t.Errorf("at the end judged %v, %d bytes booked", d.order(), d.bookedNow())
		}
	})
}

// TestSmallFlood is the attack "small flood": messages of Small bytes that are signed for long,
// all of one host, of all hosts of a network, or of many networks. Those beyond their turn hold
// half of the memory for small mail, and those of one network four messages' worth. So others'
// mail begins at once, and other expensive mail beside that of one network is not stopped.
func TestSmallFlood(t *testing.T) {
	for _, c := range []struct {
		name, client string
		most         int // that keep their memory
	}{
		{"host", "198.51.100.1", mostOvertime},
		{"network", "198.51.100.%d", mostOvertime},
		{"crowd", "198.51.%d.1", int(lateBound / signingMemory(Small))},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(1)
				for i := range 100 {
					client := c.client
					if strings.Contains(client, "%d") {
						client = fmt.Sprintf(client, i)
					}
					d.ask("flood", client, "", Small, time.Hour)
				}
				time.Sleep(5 * time.Minute) // each has its turn
				d.forget()
				if _, judging, overtime := d.State(); judging != 0 || overtime != c.most {
					t.Errorf("%d are judged, %d beyond their turn, want %d", judging, overtime, c.most)
				}
				d.ask("other", "192.0.2.1", "", Small, 0)
				if order := d.order(); !slices.Equal(order, []string{"other"}) {
					t.Errorf("judged %v", order)
				}
				expensive := d.ask("expensive", "203.0.113.1", "", Small, time.Minute)
				time.Sleep(time.Hour - 6*time.Minute) // of the machine it has a part
				d.mu.Lock()
				stopped, ended := expensive.wasStopped, expensive.ended
				d.mu.Unlock()
				if isCrowd := c.name == "crowd"; stopped != isCrowd || ended == isCrowd {
					t.Errorf("other expensive mail: stopped %v, ended %v", stopped, ended)
				}
				d.RefuseAll(errTest)
				time.Sleep(3 * time.Hour)
				if d.bookedNow() != 0 {
					t.Errorf("%d bytes booked at the end", d.bookedNow())
				}
			})
		})
	}
}

// A message that gave its memory back begins again when there is room for a late one. After
// half of its time, only its beginning is judged.
func TestStoppedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		first := d.ask("first", "10.0.1.1", "", 10<<20, time.Minute)
		time.Sleep(time.Second)
		second := d.ask("second", "10.0.2.1", "", 10<<20, 10*time.Second)
		third := d.ask("third", "10.0.3.1", "", 10<<20, 10*time.Second)
		time.Sleep(2 * time.Second)
		if waiting, judging, overtime := d.State(); waiting != 2 || judging != 0 || overtime != 1 || d.stopped != 2 {
			t.Fatalf("%d wait, %d are judged, %d beyond their quantum, %d were stopped", waiting, judging, overtime, d.stopped)
		}
		if _, ok := <-second.overtime; ok || !second.wasStopped || first.wasStopped {
			t.Errorf("stopped: first %v, second %v", first.wasStopped, second.wasStopped)
		}
		d.Hurry(third)
		synctest.Wait()
		time.Sleep(time.Hour)
		if want := []string{"first", "second", "third", "third short", "second"}; !slices.Equal(d.order(), want) || d.stopped != 2 || d.bookedNow() != 0 {
			t.Errorf("judged %v, want %v; %d stopped, %d bytes booked", d.order(), want, d.stopped, d.bookedNow())
		}
	})
}

// The network of a message beyond its quantum is set back: its large mail is judged within the
// half of the memory for such mail. An envelope sender is not, because anyone can forge it.
func TestForgedSenderKeepsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		d.ask("first", "10.0.1.1", "bank@example.org", 10<<20, time.Second) // sets back its network and sender
		time.Sleep(2 * time.Second)
		d.ask("late", "10.0.2.1", "", 10<<20, time.Hour)
		time.Sleep(time.Second)
		d.forget()
		d.ask("network", "10.0.1.9", "", 10<<20, 0)
		d.ask("forged", "192.0.2.1", "bank@example.org", 10<<20, 0)
		if !slices.Equal(d.order(), []string{"forged"}) {
			t.Errorf("judged %v", d.order())
		}
		time.Sleep(2 * time.Hour)
		if !slices.Equal(d.order(), []string{"forged", "network"}) {
			t.Errorf("at the end judged %v", d.order())
		}
	})
}

// A message that is slow only because others run beside it is not stopped.
func TestSlowMachineStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		d.ask("late", "10.0.1.1", "", 10<<20, time.Minute)
		time.Sleep(time.Second)
		for i := range 4 { // small ones, which keep their memory
			d.ask("beside", fmt.Sprintf("10.1.%d.1", i), "", Small, time.Minute)
			time.Sleep(time.Second)
		}
		slow := d.ask("slow", "192.0.2.1", "", 10<<20, 4*Quantum) // its share of that is less than a quantum
		time.Sleep(5 * Quantum)
		synctest.Wait()
		if _, ok := <-slow.overtime; ok || slow.wasStopped || !slow.ended {
			t.Errorf("stopped %v, ended %v", slow.wasStopped, slow.ended)
		}
		time.Sleep(time.Hour)
	})
}

// mostSize is the size of the largest message of the property test. It needs more than
// lateBound.
const mostSize = 20 << 20

// arrival is a message of a property test, and the pause after it.
type arrival struct {
	client         string
	size           int64
	signing, pause time.Duration
}

// Every message that is not refused is judged within the bounds, and at the end nothing is
// booked.
func TestTurnsBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		processors := rapid.IntRange(1, 3).Draw(rt, "processors")
		mail := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) arrival {
			return arrival{
				client:  fmt.Sprintf("10.0.%d.%d", rapid.IntRange(0, 3).Draw(rt, "network"), rapid.IntRange(0, 2).Draw(rt, "host")),
				size:    rapid.Int64Range(0, mostSize).Draw(rt, "size") >> rapid.IntRange(0, 16).Draw(rt, "shift"),
				signing: time.Duration(rapid.IntRange(0, 3000).Draw(rt, "ms")) * time.Millisecond,
				pause:   time.Duration(rapid.IntRange(0, 500).Draw(rt, "pause")) * time.Millisecond,
			}
		}), 1, 60).Draw(rt, "mail")
		fault := ""
		synctest.Test(t, func(*testing.T) { fault = playTurns(processors, mail) })
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

// playTurns returns a description of the fault, or "".
func playTurns(processors int, mail []arrival) (fault string) {
	d := newDesk(processors)
	var all []*Turn
	for _, m := range mail {
		all = append(all, d.ask("m", m.client, "", m.size, m.signing))
		time.Sleep(m.pause)
		memory, free := d.inside()
		most := lateBound + max(lateBound, signingMemory(mostSize))
		if memory.small.all > judgingBound || memory.small.late > lateBound || memory.large.all > most || memory.large.late > max(lateBound, signingMemory(mostSize)) || free < 0 || free > d.all {
			fault = fmt.Sprintf("memory %+v, %d of %d processors free", memory, free, d.all)
		}
	}
	time.Sleep(time.Hour)
	refused := 0
	for _, x := range all {
		if x.err != nil {
			refused++
		}
	}
	if len(d.order())-d.stopped+refused != len(all) {
		fault = fmt.Sprintf("of %d messages %d were judged, %d of them again, %d refused", len(all), len(d.order()), d.stopped, refused)
	}
	if waiting, judging, overtime := d.State(); waiting+judging+overtime+d.setBack() != 0 || d.bookedNow() != 0 {
		fault = fmt.Sprintf("at the end %d wait, %d are judged, %d beyond their turn; %d bytes booked", waiting, judging, overtime, d.bookedNow())
	}
	return fault
}

// TestCrowd is the attack "crowd": 300 messages, each of another client and sender, cost far more
// than there is processor time. Their turns get shorter, so that mail of others, which costs
// little, has its turn in time; none of it is turned away. Afterwards a turn is as long as before.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		for i := range 300 {
			d.ask("crowd", fmt.Sprintf("198.%d.%d.1", 1+i/200, i%200), fmt.Sprintf("crowd%d@example.net", i), 1000, time.Minute)
		}
		for i := range 20 {
			name := fmt.Sprint("other", i)
			if x := d.ask(name, fmt.Sprintf("203.0.%d.1", i), "", 1000, time.Millisecond); x.err != nil {
				t.Errorf("%s: %v", name, x.err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Second)
		for i := range 20 {
			if name := fmt.Sprint("other", i); !slices.Contains(d.order(), name) {
				t.Errorf("%s was not judged", name)
			}
		}
		time.Sleep(time.Hour)
		d.ask("slow", "192.0.2.1", "slow@example.org", 1000, Quantum-time.Millisecond)
		time.Sleep(time.Second)
		if n := d.setBack(); n != 0 {
			t.Errorf("a message within its quantum set %d senders back", n)
		}
	})
}
