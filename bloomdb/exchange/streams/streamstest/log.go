// Package streamstest simulates the Redis of a federation in memory, for tests with many
// faults in simulated time.
package streamstest

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Log replaces Redis for the sites of a simulated federation. It implements the keys and
// scripts of FORMAT.md, at once and in memory.
type Log struct {
	mu      sync.Mutex // guards all below
	random  *rand.Rand
	state   State
	subs    map[*subscription]bool
	chances Chances
}

// Chances are the probabilities that a message of the channel is lost, duplicated, or
// delayed by up to ten seconds.
type Chances struct{ Lost, Doubled, Late float64 }

// State are the keys. Their values are never changed, only replaced.
type State struct {
	Streams   map[string]Stream
	Heads     map[string][]byte
	Tails     map[string]streams.Position
	Manifests map[string][]byte
	Slots     map[string]map[int][]byte // by site and slot
	Votes     map[string][]byte
}

// Stream is a stream; it has an end even if it is empty.
type Stream struct {
	Entries []streams.Entry
	Tail    streams.Position
}

// NewLog returns an empty log whose channel works.
func NewLog(random *rand.Rand) *Log {
	return &Log{random: random, state: State{}.Clone(), subs: make(map[*subscription]bool)}
}

// Clone copies the keys; the records are shared.
func (k State) Clone() State {
	c := State{
		Streams: make(map[string]Stream), Heads: make(map[string][]byte), Tails: make(map[string]streams.Position),
		Manifests: make(map[string][]byte), Slots: make(map[string]map[int][]byte), Votes: make(map[string][]byte),
	}
	maps.Copy(c.Heads, k.Heads)
	maps.Copy(c.Tails, k.Tails)
	maps.Copy(c.Manifests, k.Manifests)
	maps.Copy(c.Votes, k.Votes)
	for site, s := range k.Streams {
		c.Streams[site] = Stream{slices.Clone(s.Entries), s.Tail}
	}
	for slot, chunks := range k.Slots {
		c.Slots[slot] = maps.Clone(chunks)
	}
	return c
}

// Backup and Restore simulate a Redis that saves now and then, and is restarted. Restore
// ends all subscriptions.
func (l *Log) Backup() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Clone()
}

func (l *Log) Restore(k State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = k.Clone()
	for s := range l.subs {
		s.breakOff()
	}
}

// SetChances sets the faults of the channel, and returns those before.
func (l *Log) SetChances(c Chances) (before Chances) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, l.chances = l.chances, c
	return before
}

// Change calls f, which may change the keys, as anyone with access to Redis can.
func (l *Log) Change(f func(State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.state)
}

// BreakSubscriptions ends all subscriptions.
func (l *Log) BreakSubscriptions() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.subs {
		s.breakOff()
	}
}

// Trim keeps the last n entries of a stream.
func (l *Log) Trim(site string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state.Streams[site]
	s.Entries = slices.Clone(s.Entries[max(0, len(s.Entries)-n):])
	l.state.Streams[site] = s
}

// chance draws. The caller holds mu, here and below.
func (l *Log) chance(p float64) bool { return p > 0 && l.random.Float64() < p }

func (l *Log) publish(d wire.Delta, before streams.Position, length int) error {
	at, s := streams.At(d.Epoch, d.Seq), l.state.Streams[d.Site]
	if n := len(s.Entries); s.Tail == at && n > 0 && bytes.Equal(s.Entries[n-1].Record, d.Data) {
		return nil // the command came twice
	}
	if s.Tail != before {
		return streams.ErrMoved
	}
	s.Entries = append(slices.Clone(s.Entries), streams.Entry{At: at, Size: len(d.Data), Record: d.Data})
	s.Entries = s.Entries[max(0, len(s.Entries)-length):]
	s.Tail = at
	l.state.Streams[d.Site], l.state.Tails[d.Site] = s, at
	if len(d.Data) <= streams.MaxNews {
		l.spread(d.Data)
	}
	return nil
}

func (l *Log) heartbeat(site string, record []byte, tail streams.Position, p *streams.Place) error {
	if l.state.Streams[site].Tail != tail {
		return streams.ErrMoved
	}
	if p != nil && (l.state.Manifests[site] == nil || len(l.state.Slots[site+string(p.Slot)]) < min(1, p.Chunks)) {
		return streams.ErrSnapshotLost
	}
	l.state.Heads[site], l.state.Tails[site] = record, tail
	l.spread(record)
	return nil
}

func (l *Log) commit(c streams.Commit) error {
	if len(l.state.Slots[c.Site+string(c.Place.Slot)]) != c.Place.Chunks {
		return streams.ErrSnapshotLost
	}
	l.state.Manifests[c.Site], l.state.Heads[c.Site] = c.Manifest, c.Heartbeat
	delete(l.state.Slots, c.Site+string(streams.OtherSlot(c.Place.Slot)))
	if s, ok := l.state.Streams[c.Site]; ok {
		first := slices.IndexFunc(s.Entries, func(e streams.Entry) bool { return !c.Trim.After(e.At) })
		if first < 0 {
			first = len(s.Entries)
		}
		s.Entries = slices.Clone(s.Entries[first:])
		l.state.Streams[c.Site] = s
	}
	l.spread(c.Heartbeat)
	return nil
}

// tail returns the end of a stream.
func (l *Log) tail(site string) streams.End {
	s := l.state.Streams[site]
	end := streams.End{At: s.Tail, Empty: len(s.Entries) == 0}
	if n := len(s.Entries); n > 0 {
		end.Record = s.Entries[n-1].Record
	}
	return end
}

// read returns few entries at a time, so that reads of several streams interleave.
func (l *Log) read(site string, after streams.Position) (batch []streams.Entry) {
	for _, e := range l.state.Streams[site].Entries {
		if e.At.After(after) && len(batch) < 4 {
			batch = append(batch, e)
		}
	}
	return batch
}

// spread is PUBLISH.
func (l *Log) spread(message []byte) {
	for s := range l.subs {
		copies := 1
		switch {
		case l.chance(l.chances.Lost):
			copies = 0
		case l.chance(l.chances.Doubled):
			copies = 2
		}
		for range copies {
			if l.chance(l.chances.Late) {
				time.AfterFunc(time.Duration(l.random.Int64N(int64(10*time.Second))), func() { s.deliver(message) })
			} else {
				s.deliver(message)
			}
		}
	}
}
