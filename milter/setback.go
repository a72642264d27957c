package milter

import (
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// setbacks are the senders whose mail costs more than its turn: clients, their networks
// and senders of the envelope. A message that is beyond its quantum sets them back, as
// long as it is judged and ten times as long afterwards, but ten minutes at most. Their
// mail is then judged after that of others, and of large messages one at a time.
//
// A sender of the envelope is easily forged; being set back costs nothing where
// processors are free, and delays mail where they are not.
//
// The caller holds turns.mu. The memory is bounded by the processors' time: an entry
// costs a quantum and lasts ten minutes at most.
type setbacks struct {
	running map[identity]int       // their messages that are beyond their quantum
	until   map[identity]time.Time // when their time is over
}

const (
	setbackFactor   = 10
	longestSetback  = 10 * time.Minute
	sweepSetbacksAt = 1000 // entries from which on those that are over are removed
)

// identity is what messages of one sender have in common: a network or a sender.
type identity struct {
	network netip.Prefix
	sender  string
}

// Prefix lengths of the networks that are set back with a client, in bits. A site is
// commonly assigned an IPv6 network of 48 bits (RFC 6177), which has 65,536 of 64 bits.
const (
	networkBits4 = 24
	networkBits6 = 48
)

// identitiesOf returns those of a message: the client's address, or IPv6 network of 64
// bits, its IPv4 network of 24 bits or IPv6 network of 48 bits, and the sender of the
// envelope unless it is a bounce.
func identitiesOf(client netip.Addr, sender string) []identity {
	ids := []identity{{network: lineOf(client)}}
	bits := networkBits4
	if client.Is6() {
		bits = networkBits6
	}
	if client.IsValid() {
		network, _ := client.Prefix(bits) // of a valid address there is one
		ids = append(ids, identity{network: network})
	}
	if sender != "" {
		ids = append(ids, identity{sender: strings.ToLower(sender)})
	}
	return ids
}

func newSetbacks() setbacks {
	return setbacks{running: make(map[identity]int), until: make(map[identity]time.Time)}
}

// begin sets back the senders of a message that is beyond its quantum.
func (s *setbacks) begin(ids []identity) {
	for _, id := range ids {
		s.running[id]++
	}
}

// end notes what the message cost.
func (s *setbacks) end(ids []identity, now time.Time, cost time.Duration) {
	until := now.Add(min(setbackFactor*cost, longestSetback))
	if len(s.until) > sweepSetbacksAt {
		for id, t := range s.until {
			if t.Before(now) {
				delete(s.until, id)
			}
		}
	}
	for _, id := range ids {
		if s.running[id]--; s.running[id] == 0 {
			delete(s.running, id)
		}
		if s.until[id].Before(until) {
			s.until[id] = until
		}
	}
}

func (s *setbacks) isSetBack(x *turn, now time.Time) bool {
	if len(s.running)+len(s.until) == 0 {
		return false
	}
	for _, id := range x.ids {
		if s.running[id] > 0 || s.until[id].After(now) {
			return true
		}
	}
	return false
}

// inOvertime reports whether a message of x's sender is beyond its quantum.
func (s *setbacks) inOvertime(x *turn) bool {
	for _, id := range x.ids {
		if s.running[id] > 0 {
			return true
		}
	}
	return false
}

// count is the number of senders that are set back.
func (s *setbacks) count(now time.Time) (n int) {
	for id, t := range s.until {
		if t.After(now) && s.running[id] == 0 {
			n++
		}
	}
	return n + len(s.running)
}

// work is the processors' time that judgements had, each of those that run at a time an
// equal share. So a message does not cost its sender more because others run beside it.
type work struct {
	running int           // judgements
	at      time.Time     // when it was brought up to date
	done    time.Duration // what a judgement had that has been there since the start
}

func (w *work) advance(now time.Time, processors int) {
	if w.running > 0 {
		w.done += now.Sub(w.at) * time.Duration(min(processors, w.running)) / time.Duration(w.running)
	}
	w.at = now
}

func (w *work) begin(now time.Time, processors int) { w.advance(now, processors); w.running++ }
func (w *work) end(now time.Time, processors int)   { w.advance(now, processors); w.running-- }

// stage is where a judgement is: in signing, whose time depends on the message, or in
// our own part, whose time does not: the database and the policies.
type stage struct {
	ours   atomic.Pointer[time.Time] // since when it is in our part; nil: it is not
	unpack signature.Unpacking       // set when the message asks for its turn
}

func (s *stage) enterSigning() { s.ours.Store(nil) }

func (s *stage) enterOurs() {
	now := time.Now()
	s.ours.Store(&now)
}

// inOurs is how long the judgement has been in our part; 0 while the message is signed.
func (s *stage) inOurs() time.Duration {
	since := s.ours.Load()
	if since == nil {
		return 0
	}
	return max(1, time.Since(*since))
}
