package exchange

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb/wire"
)

// simLog replaces Redis for the sites of a simulated federation. It implements the keys and
// scripts of FORMAT.md, at once and in memory.
type simLog struct {
	mu     sync.Mutex
	random *rand.Rand
	keys   simKeys
	subs   map[*simSubscription]bool

	// Probabilities that a message of the channel is lost, duplicated, or delayed by up to
	// ten seconds.
	lost, doubled, late float64
}

// simKeys are the keys. Their values are never changed, only replaced.
type simKeys struct {
	streams   map[string]simStream
	heads     map[string][]byte
	tails     map[string]Position
	manifests map[string][]byte
	slots     map[string]map[int][]byte // by site and slot
	votes     map[string][]byte
}

// simStream is a stream; it has an end even if it is empty.
type simStream struct {
	entries []entry
	tail    Position
}

func newSimLog(random *rand.Rand) *simLog {
	return &simLog{random: random, keys: simKeys{}.clone(), subs: make(map[*simSubscription]bool)}
}

// clone copies the keys; the records are shared.
func (k simKeys) clone() simKeys {
	c := simKeys{
		streams: make(map[string]simStream), heads: make(map[string][]byte), tails: make(map[string]Position),
		manifests: make(map[string][]byte), slots: make(map[string]map[int][]byte), votes: make(map[string][]byte),
	}
	maps.Copy(c.heads, k.heads)
	maps.Copy(c.tails, k.tails)
	maps.Copy(c.manifests, k.manifests)
	maps.Copy(c.votes, k.votes)
	for site, s := range k.streams {
		c.streams[site] = simStream{slices.Clone(s.entries), s.tail}
	}
	for slot, chunks := range k.slots {
		c.slots[slot] = maps.Clone(chunks)
	}
	return c
}

// backup and restore simulate a Redis that saves now and then, and is restarted.
func (l *simLog) backup() simKeys {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys.clone()
}

func (l *simLog) restore(k simKeys) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys = k.clone()
	for s := range l.subs {
		s.breakOff()
	}
}

// trim keeps the last n entries of a stream.
func (l *simLog) trim(site string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.keys.streams[site]
	s.entries = slices.Clone(s.entries[max(0, len(s.entries)-n):])
	l.keys.streams[site] = s
}

// chance draws. The caller holds mu, here and below.
func (l *simLog) chance(p float64) bool { return p > 0 && l.random.Float64() < p }

func (l *simLog) publish(d wire.Delta, before Position, length int) error {
	at, s := Position{d.Epoch, d.Seq}, l.keys.streams[d.Site]
	if n := len(s.entries); s.tail == at && n > 0 && bytes.Equal(s.entries[n-1].record, d.Data) {
		return nil // the command came twice
	}
	if s.tail != before {
		return errMoved
	}
	s.entries = append(slices.Clone(s.entries), entry{at: at, size: len(d.Data), record: d.Data})
	s.entries = s.entries[max(0, len(s.entries)-length):]
	s.tail = at
	l.keys.streams[d.Site], l.keys.tails[d.Site] = s, at
	if len(d.Data) <= maxNews {
		l.spread(d.Data)
	}
	return nil
}

func (l *simLog) heartbeat(site string, record []byte, tail Position, p *place) error {
	if l.keys.streams[site].tail != tail {
		return errMoved
	}
	if p != nil && (l.keys.manifests[site] == nil || len(l.keys.slots[site+string(p.slot)]) < min(1, p.chunks)) {
		return errSnapshotLost
	}
	l.keys.heads[site], l.keys.tails[site] = record, tail
	l.spread(record)
	return nil
}

func (l *simLog) commit(c commit) error {
	if len(l.keys.slots[c.site+string(c.place.slot)]) != c.place.chunks {
		return errSnapshotLost
	}
	l.keys.manifests[c.site], l.keys.heads[c.site] = c.manifest, c.heartbeat
	delete(l.keys.slots, c.site+string(otherSlot(c.place.slot)))
	if s, ok := l.keys.streams[c.site]; ok {
		first := slices.IndexFunc(s.entries, func(e entry) bool { return !c.trim.after(e.at) })
		if first < 0 {
			first = len(s.entries)
		}
		s.entries = slices.Clone(s.entries[first:])
		l.keys.streams[c.site] = s
	}
	l.spread(c.heartbeat)
	return nil
}

// tail returns the end of a stream.
func (l *simLog) tail(site string) streamEnd {
	s := l.keys.streams[site]
	end := streamEnd{at: s.tail, empty: len(s.entries) == 0}
	if n := len(s.entries); n > 0 {
		end.record = s.entries[n-1].record
	}
	return end
}

// read returns few entries at a time, so that reads of several streams interleave.
func (l *simLog) read(site string, after Position) (batch []entry) {
	for _, e := range l.keys.streams[site].entries {
		if e.at.after(after) && len(batch) < 4 {
			batch = append(batch, e)
		}
	}
	return batch
}

// spread is PUBLISH.
func (l *simLog) spread(message []byte) {
	for s := range l.subs {
		copies := 1
		switch {
		case l.chance(l.lost):
			copies = 0
		case l.chance(l.doubled):
			copies = 2
		}
		for range copies {
			if l.chance(l.late) {
				time.AfterFunc(time.Duration(l.random.Int64N(int64(10*time.Second))), func() { s.deliver(message) })
			} else {
				s.deliver(message)
			}
		}
	}
}
