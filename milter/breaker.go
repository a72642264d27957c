package milter

import (
	"fmt"
	"time"
)

// The breaker trips at tripRow failures in a row, however far apart: each has held up
// a message for all of its deadline, and a fault that lasts shows in the first few.
// It also trips if more than half of the last tripWindow messages failed within a
// minute: then some are judged still, but mail is slow. It closes after closeRow
// probes in a row that were judged in time.
const (
	tripRow    = 5
	tripWindow = 20
	closeRow   = 3
)

// outcome is what came of a message that was to be judged.
type outcome int

const (
	judgedInTime outcome = iota // also: ended by a panic, which comes at once
	notInTime                   // by our own fault: stuck in our own part of a judgement, or behind such messages
	turnedAway                  // no room; says nothing about our health
	sendersFault                // signing took too long, or the messages before it did
)

// breaker suspends judging when it does not work: messages then pass at once instead
// of waiting for a judgement that does not come. While it is open, one message at a
// time is judged nevertheless, as a probe, and only if a processor is free, so that
// a probe does not wait either.
//
// Senders must not be able to open it, since that switches the filter off. Only faults of
// this site count: a message that was stuck behind its signing (the database, its disk),
// or that got no turn because such messages held all processors. The time that signing
// takes depends on the message. It never counts; turns sets its sender back instead.
//
// It is a pure state machine without a lock.
type breaker struct {
	open    bool
	since   time.Time // when it tripped
	reason  string    // why
	passed  uint64    // messages that were not judged since then
	probing bool
	row     int // closed: failures in a row; open: probes in a row that went well

	recent [tripWindow]struct { // a ring
		at     time.Time
		failed bool
	}
	next int // where the oldest of them is
}

// admit says whether a message is to be judged, and whether as a probe.
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

// ended tells what came of a message that was admitted. It returns true if the
// breaker has opened or closed by that.
func (b *breaker) ended(now time.Time, probe bool, o outcome) (changed bool) {
	switch {
	case probe:
		return b.probed(o)
	case b.open, o == turnedAway, o == sendersFault: // of what was admitted before it opened, enough is known
		return false
	}
	failed := o == notInTime
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

// probed tells what came of a probe.
func (b *breaker) probed(o outcome) (changed bool) {
	b.probing = false
	switch o {
	case sendersFault:
		return false
	case notInTime, turnedAway:
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

// failures is how many of the recent ones failed since then.
func (b *breaker) failures(since time.Time) (n int) {
	for _, r := range b.recent {
		if r.failed && r.at.After(since) {
			n++
		}
	}
	return n
}

// fault is nil while it is closed.
func (b *breaker) fault() error {
	if !b.open {
		return nil
	}
	return fmt.Errorf("judging is suspended since %s: %s; %d passed unjudged since then",
		b.since.UTC().Format(time.RFC3339), b.reason, b.passed)
}

// many is how often something must happen within a minute to be a spate.
const many = 10

// spate notes when something happened lately.
type spate struct {
	at   [many]time.Time // a ring
	next int             // where the oldest of them is
}

func (s *spate) add(now time.Time) {
	s.at[s.next] = now
	s.next = (s.next + 1) % many
}

// on says whether it happened many times within the last minute.
func (s *spate) on(now time.Time) bool { return now.Sub(s.at[s.next]) < time.Minute }
