package health

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Health records how judging goes: why messages pass unchecked, and whether judging is
// suspended. Its methods are safe for concurrent use.
type Health struct {
	causes []string // of our own failures

	mu      sync.Mutex
	breaker breaker
	asked   time.Time         // when a message last asked to be judged
	failed  map[string]*spate // by cause; the keys never change
}

// quiet is how long Fault reports an open breaker while no mail arrives to probe it.
// Without this bound, a balancer or cluster that sends mail only to a ready host would
// never send any again.
const quiet = 5 * time.Minute

// New returns the health of a server whose own failures have these causes.
func New(causes ...string) *Health {
	h := &Health{causes: causes, failed: make(map[string]*spate)}
	for _, cause := range causes {
		h.failed[cause] = new(spate)
	}
	return h
}

// Fault returns why messages pass unchecked: judging is suspended, or many messages were
// not judged within the last minute. It returns nil if judging works, or if its state is
// unknown: no message arrived for five minutes, and a processor is free for one.
func (h *Health) Fault(hasProcessor bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var faults []error
	if !hasProcessor || time.Since(h.asked) < quiet {
		faults = append(faults, h.breaker.fault())
	}
	for _, cause := range h.causes {
		if h.failed[cause].isOn(time.Now()) {
			faults = append(faults, SpateError(cause))
		}
	}
	return errors.Join(faults...)
}

// SpateError describes many failures for one cause.
func SpateError(cause string) error {
	return fmt.Errorf("%d or more messages within a minute were not judged (cause: %s)", many, cause)
}

// IsSuspended reports whether judging is suspended.
func (h *Health) IsSuspended() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.breaker.open
}

// Admit reports whether to judge a message, and whether as a probe.
func (h *Health) Admit(hasProcessor bool) (judge, probe bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = time.Now()
	return h.breaker.admit(hasProcessor)
}

// Change describes that judging was suspended or resumed.
type Change struct {
	IsSuspended bool
	Reason      string    // of the suspension
	Passed      uint64    // messages that passed unchecked while it lasted
	Since       time.Time // when it began
}

// Ended records the outcome of an admitted message. It returns nil if nothing has changed.
func (h *Health) Ended(now time.Time, probe bool, o Outcome) *Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.breaker.ended(now, probe, o) {
		return nil
	}
	return &Change{h.breaker.open, h.breaker.reason, h.breaker.passed, h.breaker.since}
}

// Failed records a message that was not judged. It reports whether that is the first of many
// for its cause.
func (h *Health) Failed(now time.Time, cause string) (begins bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	spate := h.failed[cause]
	before := spate.isOn(now)
	spate.add(now)
	return !before && spate.isOn(now)
}
