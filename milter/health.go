package milter

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// health records how judging goes: what Server.Fault reports, and whether judging is
// suspended.
type health struct {
	mu      sync.Mutex
	breaker breaker
	asked   time.Time         // when a message last asked to be judged
	failed  map[string]*spate // by cause; the keys never change
}

// causes lists the causes of our own failures.
var causes = []string{causeOverload, causeError, causeDeadline}

// quiet is how long Fault reports an open breaker while no mail arrives to probe it.
// Without this bound, a balancer or cluster that sends mail only to a ready host would
// never send any again.
const quiet = 5 * time.Minute

func newHealth() *health {
	h := &health{failed: make(map[string]*spate)}
	for _, cause := range causes {
		h.failed[cause] = new(spate)
	}
	return h
}

// Fault returns why messages pass unchecked: judging is suspended, or many messages were
// not judged within the last minute. It returns nil if judging works, or if its state is
// unknown: no message arrived for five minutes, and a processor is free for one. Panics and
// answers that the MTA rejects do not suspend judging; otherwise a crafted message could.
func (s *Server) Fault() error {
	hasFree := s.turns.HasFree()
	h := s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	var faults []error
	if !hasFree || time.Since(h.asked) < quiet {
		faults = append(faults, h.breaker.fault())
	}
	for _, cause := range causes {
		if h.failed[cause].isOn(time.Now()) {
			faults = append(faults, spateError(cause))
		}
	}
	return errors.Join(faults...)
}

// isSuspended reports whether judging is suspended.
func (s *Server) isSuspended() bool {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return s.health.breaker.open
}

func spateError(cause string) error {
	return fmt.Errorf("%d or more messages within a minute were not judged (cause: %s)", many, cause)
}

// admitted asks the breaker whether to judge a message, and whether as a probe.
func (s *Server) admitted() (judge, probe bool) {
	hasFree := s.turns.HasFree()
	h := s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = time.Now()
	return h.breaker.admit(hasFree)
}

// outcome passes a message's outcome to the breaker, and logs when the breaker changes.
// When it opens, messages that wait for their turn are refused.
func (s *Server) outcome(probe bool, o outcome) {
	h, now := s.health, time.Now()
	h.mu.Lock()
	changed := h.breaker.ended(now, probe, o)
	open, reason, passed, since := h.breaker.open, h.breaker.reason, h.breaker.passed, h.breaker.since
	h.mu.Unlock()
	log := s.options.Load().Log
	switch {
	case !changed:
	case open:
		log.Error("judging suspended: mail passes unchecked, except for one probe message at a time", slog.String("reason", reason))
		s.turns.RefuseAll(errSuspended)
	default:
		log.Warn("judging resumed", slog.Uint64("passed", passed), slog.String("suspended", now.Sub(since).Round(time.Millisecond).String()))
	}
}

// failed records a message that was not judged. Many for one cause make one log line.
func (s *Server) failed(log *slog.Logger, cause string) {
	h, now := s.health, time.Now()
	h.mu.Lock()
	spate := h.failed[cause]
	before := spate.isOn(now)
	spate.add(now)
	begins := !before && spate.isOn(now)
	h.mu.Unlock()
	if begins && s.spates[cause].allow() {
		log.Error("many messages were not judged", slog.String("cause", cause), slog.Any("error", spateError(cause)))
	}
}
