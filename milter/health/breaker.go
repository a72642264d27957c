package health

import (
	"fmt"
	"time"
)

// The breaker trips at tripRow failures in a row, however far apart: each has delayed a
// message by its whole deadline, and a lasting fault shows in the first few. It also trips
// if more than half of the last tripWindow messages failed within a minute: some messages
// are still judged then, but mail is slow. It closes after closeRow probes in a row that
// were judged in time.
const (
	tripRow    = 5
	tripWindow = 20
	closeRow   = 3
)

// Outcome is the result of an attempt to judge a message.
type Outcome int

// The outcomes.
const (
	JudgedInTime Outcome = iota // also: ended by a panic, which is immediate
	NotInTime                   // our fault: stuck in our own part of judging, or waiting behind such messages
	TurnedAway                  // no room; no evidence about our health
	SendersFault                // signing took too long, here or for the messages before it
)

// breaker suspends judging while it fails: messages then pass at once instead of waiting
// for a judgement that does not come. While it is open, one message at a time is still
// judged as a probe. A probe needs a free processor, so that it does not wait either.
//
// Senders must not be able to open it, because that switches the filter off. Only faults of
// this site count: a message that was stuck after its signing (the database, its disk), or
// that got no turn because such messages held all processors. The time for signing depends
// on the message and never counts; package turns sets its sender back instead.
//
// It is a pure state machine without a lock.
type breaker struct {
	open    bool
	since   time.Time // when it tripped
	reason  string    // why
	passed  uint64    // messages not judged since then
	probing bool
	row     int // closed: failures in a row; open: successful probes in a row

	recent [tripWindow]struct { // a ring
		at     time.Time
		failed bool
	}
	next int // index of the oldest entry
}

// admit reports whether a message is judged, and whether as a probe.
func (b *breaker) admit(processorFree bool) (judge, probe bool) {
	switch {
	case !b.open:
		return true, false
	case !b.probing && processorFree:
		b.probing = true
		return true, true
	}
	b.passed++
	return false, false
}

// ended records the outcome of an admitted message. It reports whether the breaker opened
// or closed as a result.
func (b *breaker) ended(now time.Time, probe bool, o Outcome) (changed bool) {
	switch {
	case probe:
		return b.probed(o)
	case b.open, o == TurnedAway, o == SendersFault: // messages admitted before it opened add no evidence
		return false
	}
	failed := o == NotInTime
	b.recent[b.next].at, b.recent[b.next].failed = now, failed
	b.next = (b.next + 1) % tripWindow
	if !failed {
		b.row = 0
		return false
	}
	b.row++
	switch lately := b.failures(now.Add(-time.Minute)); {
	case b.row >= tripRow:
		b.reason = fmt.Sprintf("%d messages in a row were not judged in time", b.row)
	case lately > tripWindow/2:
		b.reason = fmt.Sprintf("%d of the last %d messages were not judged in time", lately, tripWindow)
	default:
		return false
	}
	b.open, b.since, b.passed, b.row = true, now, 0, 0
	return true
}

// probed records the outcome of a probe.
func (b *breaker) probed(o Outcome) (changed bool) {
	b.probing = false
	switch o {
	case SendersFault:
		return false
	case NotInTime, TurnedAway:
		b.row = 0
		return false
	}
	b.row++
	if b.row < closeRow {
		return false
	}
	*b = breaker{passed: b.passed, since: b.since}
	return true
}

// failures returns the number of recent failures after since.
func (b *breaker) failures(since time.Time) (n int) {
	for _, r := range b.recent {
		if r.failed && r.at.After(since) {
			n++
		}
	}
	return n
}

// fault returns nil while the breaker is closed.
func (b *breaker) fault() error {
	if !b.open {
		return nil
	}
	return fmt.Errorf("judging suspended since %s: %s; %d messages passed unchecked since then",
		b.since.UTC().Format(time.RFC3339), b.reason, b.passed)
}

// many is the number of events within a minute that make a spate.
const many = 10

// spate records the most recent events of one kind.
type spate struct {
	at   [many]time.Time // a ring
	next int             // index of the oldest entry
}

func (s *spate) add(now time.Time) {
	s.at[s.next] = now
	s.next = (s.next + 1) % many
}

// isOn reports whether many events occurred within the last minute.
func (s *spate) isOn(now time.Time) bool { return now.Sub(s.at[s.next]) < time.Minute }
