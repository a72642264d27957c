package turns

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// setbacks contains the senders whose mail exceeds its turn: clients, their networks and
// envelope senders. A message beyond its quantum sets them back while it is judged and then
// for ten times as long, at most ten minutes. Meanwhile their mail is judged after that of
// others, and large messages of a network one at a time.
//
// An envelope sender is easily forged: it decides only which of the waiting messages is judged
// next.
//
// The caller holds Turns.mu. The memory is bounded by the processors' time: an entry costs
// a quantum and lasts ten minutes at most.
type setbacks struct {
	running map[identity]int       // number of their messages beyond their quantum
	until   map[identity]time.Time // when the setback expires
}

const (
	setbackFactor   = 10
	longestSetback  = 10 * time.Minute
	sweepSetbacksAt = 1000 // number of entries from which expired ones are removed
)

// identity is a property shared by a sender's messages: a network or an envelope sender.
type identity struct {
	network netip.Prefix
	sender  string
}

// Prefix lengths of the networks that are set back with a client, in bits. A site is
// commonly assigned an IPv6 network of 48 bits (RFC 6177), which contains 65,536 of 64
// bits.
const (
	networkBits4 = 24
	networkBits6 = 48
)

// identitiesOf returns the identities of a message: the client's address, or its IPv6
// network of 64 bits; its IPv4 network of 24 bits, or IPv6 network of 48 bits; and the
// envelope sender unless it is a bounce.
func identitiesOf(client netip.Addr, sender string) []identity {
	ids := []identity{{network: lineOf(client)}}
	bits := networkBits4
	if client.Is6() {
		bits = networkBits6
	}
	if client.IsValid() {
		network, _ := client.Prefix(bits) // a valid address has one
		ids = append(ids, identity{network: network})
	}
	if sender != "" {
		ids = append(ids, identity{sender: strings.ToLower(sender)})
	}
	return ids
}

// translated is the network in which a translator shows IPv4 clients to a host without IPv4 (RFC 6052).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// original returns the IPv4 address of a client that a translator shows, or else the client: all IPv4
// clients would have one turn, as they are in one IPv6 network.
func original(client netip.Addr) netip.Addr {
	if !translated.Contains(client) {
		return client
	}
	b := client.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
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

// end charges the cost of the message to its senders.
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

func (s *setbacks) isSetBack(x *Turn, now time.Time) bool {
	if len(s.running)+len(s.until) == 0 {
		return false
	}
	return slices.ContainsFunc(x.ids, func(id identity) bool { return s.has(id, now) })
}

// has reports whether the senders with an identity are set back.
func (s *setbacks) has(id identity, now time.Time) bool {
	return s.running[id] > 0 || s.until[id].After(now)
}

// overtimeOf returns the number of messages beyond their quantum of x's network. An envelope
// sender does not count, because anyone can forge it.
func (s *setbacks) overtimeOf(x *Turn) (most int) {
	for _, id := range x.ids {
		if id.sender == "" {
			most = max(most, s.running[id])
		}
	}
	return most
}

// count returns the number of senders that are set back.
func (s *setbacks) count(now time.Time) (n int) {
	for id, t := range s.until {
		if t.After(now) && s.running[id] == 0 {
			n++
		}
	}
	return n + len(s.running)
}
