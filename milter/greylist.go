package milter

import (
	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

// reasonGreylist is the reason for a clean message that is deferred.
const reasonGreylist = "greylist"

// returned says that a message was deferred and is the retry, which counts no
// further: it was counted before.
func (s *Server) returned(msg *message, set signature.Set) bool {
	if msg.options.GreylistFrom == 0 || !s.db.Returned(set, msg.sender, msg.audience()) {
		return false
	}
	s.metrics.greylisted.WithLabelValues("returned").Inc()
	return true
}

// greylist defers a message once that would be delivered as clean, though many of its
// kind come right now: by its retry it may be reported, or bulk. Its own recipients are
// one of them, so that a letter to a whole office is not put off. A message of which one
// recipient is allowed is not held up for the others.
func (s *Server) greylist(d *Decision, msg *message, set signature.Set, e bloomdb.Evidence) {
	delivered := d.Action == Accept || d.Action == Tag
	from := msg.options.GreylistFrom
	if from == 0 || d.Verdict != Clean || !delivered || msg.allowed != nil ||
		!s.db.Defer(set, e, msg.sender, msg.audience(), from+uint64(msg.sightings())-1) {
		return
	}
	d.Action, d.Reason = Tempfail, reasonGreylist
	s.metrics.greylisted.WithLabelValues("deferred").Inc()
}
