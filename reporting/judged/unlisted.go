package judged

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// Unlisted contains hashes of the latest mail that matched no report, to find what a report
// would hit. Mail is forgotten after a day, the oldest first if the memory is full, and all of it
// when the daemon stops.
//
//	Add: time, sender, copies, signatures, anchors of the sketches -> ring of 64-bit words
//	Like: one look through the ring, some milliseconds with the memory of MaxUnlisted
//
// Its memory is taken at once and never grows. A message takes some 200 bytes. An Unlisted is
// safe for concurrent use. Like lets mail in between: Add waits for a look at stretch words.
type Unlisted struct {
	mu      sync.RWMutex
	ring    []uint64
	oldest  int    // place of the oldest record
	used    int    // words in use, from oldest on, around the end of the ring
	dropped uint64 // words that were forgotten since the start
}

// MaxUnlisted is the default memory of an Unlisted, in bytes. It has room for some 80,000
// messages.
const MaxUnlisted = 16 << 20

// Bounds of an Unlisted.
const (
	unlistedFor   = 24 * time.Hour
	maxRemembered = 48 // signatures and anchors of a message

	stretch = 1 << 14 // words that Like reads under one lock: some 40 microseconds
)

// The words of a record. Its signatures and anchors follow.
const (
	wordLength = iota // in words, with these
	wordAt            // seconds since 1970
	wordSender
	wordCopies
	wordsBefore
)

// Seen describes one unlisted message.
type Seen struct {
	At      time.Time
	Sender  uint64 // a hash; equal for mail of one sender
	Copies  uint32 // recipients, or 1; 0: the message was seen before
	Set     signature.Set
	Anchors [][]uint64 // keyed hashes of each sketch that can be reported
}

// Likeness counts unlisted messages that a report would hit.
type Likeness struct {
	Mails   uint64 // with a copy for each recipient, as in the counts of bulk mail
	Senders uint64 // different ones
}

// NewUnlisted returns an empty Unlisted of so many bytes.
func NewUnlisted(bytes int) *Unlisted { return &Unlisted{ring: make([]uint64, bytes/8)} }

// Add adds a message. It keeps no slice of it.
func (u *Unlisted) Add(m Seen) {
	words := [wordsBefore + maxRemembered]uint64{wordAt: uint64(m.At.Unix()), wordSender: m.Sender, wordCopies: uint64(m.Copies)}
	n := wordsBefore
	add := func(hash uint64) {
		if n < len(words) {
			words[n] = hash
			n++
		}
	}
	for _, s := range m.Set.Signatures {
		add(hashOf(s))
	}
	for _, anchors := range m.Anchors {
		for _, a := range anchors {
			add(a)
		}
	}
	words[wordLength] = uint64(n)
	if m.Copies == 0 || n > len(u.ring) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.used+n > len(u.ring) {
		u.drop()
	}
	for i, w := range words[:n] {
		u.ring[u.place(u.used+i)] = w
	}
	u.used += n
}

// place returns the place in the ring of a word, counted from the oldest one.
func (u *Unlisted) place(i int) int {
	if i += u.oldest; i >= len(u.ring) {
		return i - len(u.ring)
	}
	return i
}

// drop forgets the oldest record. The caller holds mu.
func (u *Unlisted) drop() {
	n := int(u.ring[u.oldest])
	u.oldest, u.used, u.dropped = u.place(n), u.used-n, u.dropped+uint64(n)
}

// hashOf returns the begin of a signature's digest.
func hashOf(s signature.Signature) uint64 { return binary.BigEndian.Uint64(s.Digest[:]) }

// Like counts the messages of the last day that a report of a message would hit: they share a
// signature with it, or as many anchors of a sketch as need says. need has an element for each
// of anchors; 0: the sketch lists nothing.
func (u *Unlisted) Like(signatures []signature.Signature, anchors [][]uint64, need []int, now time.Time) (found Likeness) {
	q := newQuestion(signatures, anchors, need)
	q.since = uint64(now.Add(-unlistedFor).Unix())
	senders := make(map[uint64]struct{})
	for at, more := uint64(0), true; more; {
		at, more = u.look(at, q, senders, &found)
	}
	found.Senders = uint64(len(senders))
	return found
}

// look adds the likeness of a stretch of records, from the word of number at on, and returns where the
// next stretch begins. Words are numbered from the start. Records that are forgotten meanwhile are
// skipped.
func (u *Unlisted) look(at uint64, q *question, senders map[uint64]struct{}, found *Likeness) (next uint64, more bool) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	from := int(max(at, u.dropped) - u.dropped)
	i := from
	for i < u.used && i-from < stretch {
		word := func(n int) uint64 { return u.ring[u.place(i+n)] }
		n := int(word(wordLength))
		if word(wordAt) >= q.since && q.isLike(n-wordsBefore, func(n int) uint64 { return word(wordsBefore + n) }) {
			found.Mails += word(wordCopies)
			senders[word(wordSender)] = struct{}{}
		}
		i += n
	}
	return u.dropped + uint64(i), i < u.used
}

// question is what Like looks for. Few words pass the first look.
type question struct {
	since    uint64               // seconds since 1970
	first    [1 << 12 / 64]uint64 // a bit for the low bits of each hash
	exact    []uint64
	sketches [][]uint64
	need     []int
	common   []int // anchors of each sketch in the message that is compared
}

func newQuestion(signatures []signature.Signature, anchors [][]uint64, need []int) *question {
	q := &question{sketches: anchors, need: need, common: make([]int, len(anchors))}
	for _, s := range signatures {
		q.exact = append(q.exact, hashOf(s))
	}
	for _, list := range append([][]uint64{q.exact}, anchors...) {
		for _, h := range list {
			q.first[h>>6%uint64(len(q.first))] |= 1 << (h % 64)
		}
	}
	return q
}

// isLike reports whether a message of n hashes is like the one of the question.
func (q *question) isLike(n int, hash func(int) uint64) bool {
	clear(q.common)
	for i := range n {
		h := hash(i)
		if q.first[h>>6%uint64(len(q.first))]&(1<<(h%64)) == 0 {
			continue
		}
		if slices.Contains(q.exact, h) {
			return true
		}
		for s, anchors := range q.sketches {
			if slices.Contains(anchors, h) {
				if q.common[s]++; q.common[s] == q.need[s] {
					return true
				}
			}
		}
	}
	return false
}
