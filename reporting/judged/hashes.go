package judged

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// Hashes contains hashes of the latest mail, to find what belongs to a report. The oldest mail is
// forgotten if the memory is full, and all of it when the daemon stops.
//
//	Add: time, sender, copies, signatures, link domains, anchors of the sketches -> ring of 64-bit words
//	Like, Courses: one look through the ring, some milliseconds with the memory of MaxUnlisted
//
// Its memory is taken at once and never grows. A message takes some 200 bytes. A Hashes is
// safe for concurrent use. A look lets mail in between: Add waits for a look at stretch words.
type Hashes struct {
	mu      sync.RWMutex
	ring    []uint64
	oldest  int    // place of the oldest record
	used    int    // words in use, from oldest on, around the end of the ring
	dropped uint64 // words that were forgotten since the start
}

// The default memory of unlisted and of listed mail, in bytes: some 80,000 and 40,000 messages.
const (
	MaxUnlisted = 16 << 20
	MaxListed   = 8 << 20
)

// Bounds of a Hashes.
const (
	unlistedFor   = 24 * time.Hour
	maxRemembered = 48 // signatures and anchors of a message
	maxLists      = 8  // of signatures and domains, and of anchors of a sketch
	maxDomains    = 8  // of links in a message

	stretch = 1 << 14 // words that a look copies under one lock: some 40 microseconds
)

// The words of a record. Its signatures and anchors follow.
const (
	wordLength = iota // in words, with these
	wordAt            // seconds since 1970
	wordSender
	wordCopies // and knownBit
	wordShape  // a byte each, the lowest first: the numbers of signatures and domains, and of anchors of each sketch
	wordsBefore
)

// knownBit is the bit of wordCopies for Seen.Known.
const knownBit = 1 << 32

// Seen describes one message.
type Seen struct {
	At      time.Time
	Sender  uint64 // a hash; equal for mail of one sender
	Copies  uint32 // recipients, or 1; 0: the message was seen before
	Known   bool   // it is from a proven sender that this site knows
	Set     signature.Set
	Anchors [][]uint64 // keyed hashes of each sketch that can be reported, ascending
}

// Likeness counts messages that a report would hit.
type Likeness struct {
	Mails   uint64 // with a copy for each recipient, as in the counts of bulk mail
	Senders uint64 // different ones
	Known   uint64 // those of the mails that are from proven senders that this site knows
}

// NewHashes returns an empty Hashes of so many bytes.
func NewHashes(bytes int) *Hashes { return &Hashes{ring: make([]uint64, bytes/8)} }

// Add adds a message. It keeps no slice of it.
func (u *Hashes) Add(m Seen) {
	words := [wordsBefore + maxRemembered]uint64{wordAt: uint64(m.At.Unix()), wordSender: m.Sender, wordCopies: uint64(m.Copies)}
	if m.Known {
		words[wordCopies] |= knownBit
	}
	n := wordsBefore
	add := func(list int, hash uint64) {
		if n < len(words) && list < maxLists {
			words[n] = hash
			words[wordShape] += 1 << (8 * list)
			n++
		}
	}
	for _, s := range m.Set.Signatures {
		add(0, hashOf(s))
	}
	for _, d := range m.Set.Domains[:min(len(m.Set.Domains), maxDomains)] {
		add(0, hashOf(signature.DomainSignature(d)))
	}
	for i, anchors := range m.Anchors {
		for _, a := range anchors {
			add(1+i, a)
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
func (u *Hashes) place(i int) int {
	if i += u.oldest; i >= len(u.ring) {
		return i - len(u.ring)
	}
	return i
}

// drop forgets the oldest record. The caller holds mu.
func (u *Hashes) drop() {
	n := int(u.ring[u.oldest])
	u.oldest, u.used, u.dropped = u.place(n), u.used-n, u.dropped+uint64(n)
}

// hashOf returns the begin of a signature's digest.
func hashOf(s signature.Signature) uint64 { return binary.BigEndian.Uint64(s.Digest[:]) }

// Since returns the time of the oldest message, if older ones were forgotten; zero otherwise.
func (u *Hashes) Since() time.Time {
	u.mu.RLock()
	defer u.mu.RUnlock()
	if u.dropped == 0 || u.used == 0 {
		return time.Time{}
	}
	return time.Unix(int64(u.ring[u.place(wordAt)]), 0)
}

// Like counts the messages of the last day that belong to a group.
func (u *Hashes) Like(g Group, now time.Time) (found Likeness) {
	senders := make(map[uint64]struct{})
	u.look([]Group{g}, now.Add(-unlistedFor), func(_ int, r record) {
		found.Mails += r.copies
		if r.isKnown {
			found.Known += r.copies
		}
		senders[r.sender] = struct{}{}
	})
	found.Senders = uint64(len(senders))
	return found
}

// Course is the mail of a group over time.
type Course struct {
	Mails []uint64  // copies from each bound to the next one, and from the last one on
	Last  time.Time // of the latest message since the first bound; zero: there is none
}

// Courses counts the mail of each group over time. The bounds ascend. Older mail is not counted.
func (u *Hashes) Courses(groups []Group, bounds []time.Time) []Course {
	courses := make([]Course, len(groups))
	for i := range courses {
		courses[i].Mails = make([]uint64, len(bounds))
	}
	if len(groups) == 0 || len(bounds) == 0 {
		return courses
	}
	u.look(groups, bounds[0], func(group int, r record) {
		c, at := &courses[group], time.Unix(int64(r.at), 0)
		next, isBound := slices.BinarySearchFunc(bounds, at, time.Time.Compare)
		if isBound {
			next++
		}
		c.Mails[next-1] += r.copies
		if at.After(c.Last) {
			c.Last = at
		}
	})
	return courses
}

// record is a message in memory, without its hashes.
type record struct {
	at, sender, copies uint64
	isKnown            bool
}

// look calls found for each message since a time, and each group that it belongs to.
func (u *Hashes) look(groups []Group, since time.Time, found func(group int, r record)) {
	q := newQuestion(groups)
	var words []uint64
	for at, more := uint64(0), true; more; {
		words, at, more = u.stretch(words[:0], at)
		for rest := words; len(rest) > 0; {
			var r []uint64
			r, rest = rest[:rest[wordLength]], rest[rest[wordLength]:]
			if r[wordAt] < uint64(since.Unix()) {
				continue
			}
			for _, group := range q.groups(r[wordsBefore:], r[wordShape]) {
				found(group, record{at: r[wordAt], sender: r[wordSender], copies: r[wordCopies] &^ knownBit, isKnown: r[wordCopies]&knownBit != 0})
			}
		}
	}
}

// stretch appends a stretch of records to words, from the word of number at on, and returns where the
// next stretch begins. Words are numbered from the start. Records that are forgotten meanwhile are
// skipped. They are copied, because mail waits for the lock: what is compared with them, and how long
// that takes, depends on reports.
func (u *Hashes) stretch(words []uint64, at uint64) (_ []uint64, next uint64, more bool) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	from := int(max(at, u.dropped) - u.dropped)
	to := from
	for to < u.used && to-from < stretch {
		to += int(u.ring[u.place(to)])
	}
	first, n := u.place(from), to-from
	behind := min(n, len(u.ring)-first) // the rest is at the begin of the ring
	words = append(words, u.ring[first:first+behind]...)
	words = append(words, u.ring[:n-behind]...)
	return words, u.dropped + uint64(to), to < u.used
}
