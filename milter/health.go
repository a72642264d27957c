package milter

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// health is how judging goes: what Server.Fault tells, and whether judging is
// suspended.
type health struct {
	mu      sync.Mutex
	breaker breaker
	asked   time.Time         // when a message was to be judged last
	failed  map[string]*spate // by cause; nobody adds or takes a cause away
}

// causes are those of failures of ours.
var causes = []string{causeOverload, causeError, causeDeadline}

// quiet is how long Fault speaks of a breaker that no mail comes to try. A balancer or a
// cluster that sends mail only to who is ready would else never send any again.
const quiet = 5 * time.Minute

func newHealth() *health {
	h := &health{failed: make(map[string]*spate)}
	for _, cause := range causes {
		h.failed[cause] = new(spate)
	}
	return h
}

// Fault is why messages pass unjudged: judging is suspended, or within the last
// minute many messages were not judged. It is nil if all is well, or if nobody knows
// any more: no message came for five minutes, and a processor is free for one. Panics
// and answers that the MTA refuses do not suspend judging, or a crafted message could.
func (s *Server) Fault() error {
	_, judging, _ := s.turns.state()
	h := s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	var faults []error
	if judging == s.turns.all || time.Since(h.asked) < quiet {
		faults = append(faults, h.breaker.fault())
	}
	for _, cause := range causes {
		if h.failed[cause].on(time.Now()) {
			faults = append(faults, spateError(cause))
		}
	}
	return errors.Join(faults...)
}

// suspended says whether judging is.
func (s *Server) suspended() bool {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return s.health.breaker.open
}

func spateError(cause string) error {
	return fmt.Errorf("%d or more messages within a minute were not judged, cause %s", many, cause)
}

// admitted asks the breaker about a message.
func (s *Server) admitted() (judge, probe bool) {
	_, judging, _ := s.turns.state()
	h := s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = time.Now()
	return h.breaker.admit(judging < s.turns.all)
}

// outcome tells the breaker what came of a message, and the log what came of the
// breaker. Those who wait when it trips need not wait on.
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
		log.Error("judging is suspended, mail passes unjudged but for one message at a time", slog.String("reason", reason))
		s.turns.refuseAll(errSuspended)
	default:
		log.Warn("messages are judged again", slog.Uint64("passed", passed), slog.String("suspended", now.Sub(since).Round(time.Millisecond).String()))
	}
}

// failed notes a message that was not judged. Many of a cause make one log line.
func (s *Server) failed(log *slog.Logger, cause string) {
	h, now := s.health, time.Now()
	h.mu.Lock()
	spate := h.failed[cause]
	before := spate.on(now)
	spate.add(now)
	begins := !before && spate.on(now)
	h.mu.Unlock()
	if begins && s.spates[cause].allow() {
		log.Error("many messages are not judged", slog.String("cause", cause), slog.Any("error", spateError(cause)))
	}
}
