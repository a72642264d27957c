package milter

import (
	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

// isRetry reports whether a message is the retry of a deferred one, which was already
// counted.
func (s *Server) isRetry(msg *message, set signature.Set) bool {
	if msg.options.GreylistFrom == 0 || !s.db.Returned(set, msg.Sender, msg.Audience()) {
		return false
	}
	s.metrics.Greylisted.WithLabelValues("returned").Inc()
	return true
}

// greylist defers a clean message once if many copies of it arrive now: by its retry it may
// be reported, or bulk. The copies for the message's own recipients count as one, so that a
// letter to a whole office is not deferred. A message with an allowed recipient is not
// delayed for the others.
func (s *Server) greylist(d *policy.Decision, msg *message, set signature.Set, e bloomdb.Evidence) {
	delivered := d.Action == policy.Accept || d.Action == policy.Tag
	from := msg.options.GreylistFrom
	if from == 0 || d.Verdict != policy.Clean || !delivered || msg.allowed != nil ||
		!s.db.Defer(set, e, msg.Sender, msg.Audience(), from+uint64(msg.sightings())-1) {
		return
	}
	d.Action, d.Reason = policy.Tempfail, policy.ReasonGreylist
	s.metrics.Greylisted.WithLabelValues("deferred").Inc()
}
