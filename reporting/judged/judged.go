// Package judged remembers the messages that were judged lately, so that an administrator
// can ask about one without having it: by the MTA's queue id, or by an id in a header.
//
//	milter -> List.Add: the oldest are forgotten     List.Find -> desk
//	milter -> Hashes.Add: of listed mail, and        Hashes.Like -> desk: what a report would hit
//	          of unlisted mail                       Hashes.Courses -> desk: campaigns over time
//
// It keeps verdicts and signatures in memory, within a bound. It keeps no text and no
// address, and forgets everything when the daemon stops. A List has one lock. It is held to
// copy a few messages, and never for a search among them, because mail waits for Add.
package judged

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// Message is one message that was judged.
type Message struct {
	At      time.Time
	QueueID string
	Verdict string
	Shown   []signature.Signature // those that the verdict names, such as in the header
	Set     signature.Set
	Spared  string // proven From domain without which near matches would have listed it; empty: none
	IsShort bool   // Set is without the sketches, which took too much room
}

// MaxMemory is the default bound of a List, in bytes.
const MaxMemory = 16 << 20

// maxShown bounds Message.Shown.
const maxShown = 8

// List contains the latest messages. It is safe for concurrent use.
type List struct {
	max   int // bytes
	begun time.Time

	mu    sync.RWMutex
	list  []Message // the oldest first
	gone  int       // messages that were forgotten: the number of list[0]
	bytes int
	full  bool // messages were forgotten
}

// New returns an empty list of at most so many bytes. now is the time from which messages
// are added.
func New(now time.Time, bytes int) *List { return &List{max: bytes, begun: now} }

// Add adds a message, and forgets the oldest ones beyond the bound. It copies what it keeps.
// A message of more than a 64th of the bound is kept without its sketches.
func (l *List) Add(m Message) {
	m = m.copied()
	if m.size() > l.max/64 {
		m.Set.Sketches, m.IsShort = nil, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, m)
	l.bytes += m.size()
	for l.bytes > l.max && len(l.list) > 0 {
		l.bytes -= l.list[0].size()
		l.list[0] = Message{} // frees its memory
		l.list = l.list[1:]
		l.gone++
		l.full = true
	}
}

// Since returns the time from which on all judged messages are in the list.
func (l *List) Since() time.Time {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.full && len(l.list) > 0 {
		return l.list[0].At
	}
	return l.begun
}

// searched is the number of messages that Find copies at a time.
const searched = 256

// Find returns at most limit messages for which match is true, the latest first. match must not change
// the message, nor keep more of it than its set.
func (l *List) Find(limit int, match func(*Message) bool) (found []Message) {
	some, before := l.latest(make([]Message, 0, searched), math.MaxInt)
	for len(some) > 0 {
		for i := range some {
			if len(found) == limit {
				return found
			}
			if match(&some[i]) {
				found = append(found, some[i])
			}
		}
		some, before = l.latest(some[:0], before)
	}
	return found
}

// latest appends to some, up to its capacity, the latest messages with a number below before.
// It returns the number of the last one.
func (l *List) latest(some []Message, before int) ([]Message, int) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	before = min(before, l.gone+len(l.list))
	for ; before > l.gone && len(some) < cap(some); before-- {
		some = append(some, l.list[before-1-l.gone])
	}
	return some, before
}

// copied returns a message that shares no memory with others. Strings may be parts of a
// whole message.
func (m Message) copied() Message {
	m.QueueID, m.Verdict, m.Spared = strings.Clone(m.QueueID), strings.Clone(m.Verdict), strings.Clone(m.Spared)
	m.Shown = slices.Clone(m.Shown[:min(len(m.Shown), maxShown)])
	m.Set.Signatures, m.Set.Counting = slices.Clone(m.Set.Signatures), slices.Clone(m.Set.Counting)
	m.Set.Sketches, m.Set.Domains = slices.Clone(m.Set.Sketches), slices.Clone(m.Set.Domains)
	for i, s := range m.Set.Sketches {
		m.Set.Sketches[i].Anchors, m.Set.Sketches[i].Keys = slices.Clone(s.Anchors), slices.Clone(s.Keys)
	}
	for i, d := range m.Set.Domains {
		m.Set.Domains[i] = strings.Clone(d)
	}
	return m
}

// Sizes in memory, in bytes, rounded up for the allocator.
const (
	sizeOfMessage   = 384 // with its place in the list, which may be half empty
	sizeOfSignature = 40
	sizeOfSketch    = 96
	sizeOfFeature   = 20
	sizeOfDomain    = 32
)

// size returns an upper bound of the memory of a message, in bytes.
func (m *Message) size() int {
	n := sizeOfMessage + len(m.QueueID) + len(m.Verdict) + len(m.Spared)
	n += sizeOfSignature * (len(m.Shown) + len(m.Set.Signatures) + len(m.Set.Counting))
	for _, s := range m.Set.Sketches {
		n += sizeOfSketch + sizeOfFeature*(len(s.Anchors)+len(s.Keys))
	}
	for _, d := range m.Set.Domains {
		n += sizeOfDomain + len(d)
	}
	return n
}
