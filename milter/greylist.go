package milter

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

// reasonGreylist is the reason for a clean message that is deferred.
const reasonGreylist = "greylist"

// tuple is the part of the envelope by which a deferred message is known when it
// comes again: sender and recipients, in one order. The client is not in it, since
// large senders come again from another address.
func (e *envelope) tuple() []byte {
	recipients := slices.Sorted(slices.Values(e.audience()))
	size := len(e.sender)
	for _, r := range recipients {
		size += 1 + len(r)
	}
	tuple := append(make([]byte, 0, size), e.sender...)
	for _, r := range recipients {
		tuple = append(append(tuple, 0), r...) // no address has a NUL: the protocol ends them by one
	}
	return tuple
}

// returned says that a message was deferred and is the retry, which counts no
// further: it was counted before.
func (s *Server) returned(msg *message, set signature.Set) bool {
	if msg.options.GreylistFrom == 0 || !s.db.Returned(set, msg.tuple()) {
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
		!s.db.Defer(set, e, msg.tuple(), from+uint64(msg.sightings())-1) {
		return
	}
	d.Action, d.Reason = Tempfail, reasonGreylist
	s.metrics.greylisted.WithLabelValues("deferred").Inc()
}
