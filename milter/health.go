package milter

import (
	"log/slog"
	"time"

	"github.com/spambloom/spambloom/milter/health"
)

// causes lists the causes of our own failures.
var causes = []string{causeOverload, causeError, causeDeadline}

// Fault returns why messages pass unchecked: judging is suspended, or many messages were
// not judged within the last minute. It returns nil if judging works, or if its state is
// unknown: no message arrived for five minutes, and a processor is free for one. Panics and
// answers that the MTA rejects do not suspend judging; otherwise a crafted message could.
func (s *Server) Fault() error { return s.health.Fault(s.turns.HasFree()) }

// outcome records a message's outcome, and logs when judging is suspended or resumed. When it
// is suspended, messages that wait for their turn are refused.
func (s *Server) outcome(probe bool, o health.Outcome) {
	now := time.Now()
	change := s.health.Ended(now, probe, o)
	log := s.options.Load().Log
	switch {
	case change == nil:
	case change.IsSuspended:
		log.Error("judging suspended: mail passes unchecked, except for one probe message at a time", slog.String("reason", change.Reason))
		s.turns.RefuseAll(errSuspended)
	default:
		log.Warn("judging resumed", slog.Uint64("passed", change.Passed), slog.String("suspended", now.Sub(change.Since).Round(time.Millisecond).String()))
	}
}

// failed records a message that was not judged. Many for one cause make one log line.
func (s *Server) failed(log *slog.Logger, cause string) {
	if s.health.Failed(time.Now(), cause) && s.spates[cause].Allow() {
		log.Error("many messages were not judged", slog.String("cause", cause), slog.Any("error", health.SpateError(cause)))
	}
}
