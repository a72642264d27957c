package milter

import (
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

// Verdict is what is thought of a message.
type Verdict string

// The verdicts.
const (
	Spam    Verdict = "spam"    // reported and not revoked
	Bulk    Verdict = "bulk"    // seen at least Policy.BulkThreshold times
	Clean   Verdict = "clean"   // judged, and neither of these
	Allowed Verdict = "allowed" // an allow rule matched
	Skipped Verdict = "skipped" // not judged on purpose; Decision.Reason says why

	// failed is no judgement: a panic or the deadline came first.
	failed Verdict = "failed"
)

// Action is what is done with a message.
type Action string

// The actions.
const (
	Accept     Action = "accept"     // deliver without a header of ours
	Tag        Action = "tag"        // deliver with headers
	Quarantine Action = "quarantine" // headers, and into the MTA's hold queue
	Reject     Action = "reject"     // 550 5.7.1
	Tempfail   Action = "tempfail"   // 451 4.7.1
	Discard    Action = "discard"    // accept and throw away
)

var actions = []Action{Accept, Tag, Quarantine, Reject, Tempfail, Discard}

// ParseAction reads an action's name. The error names what is allowed.
func ParseAction(name string) (Action, error) {
	if a := Action(name); slices.Contains(actions, a) {
		return a, nil
	}
	return "", fmt.Errorf("unknown action %q, allowed are %q", name, actions)
}

// Reasons for Skipped.
const (
	reasonAuthenticated = "authenticated"
	reasonLocal         = "local"
	reasonOversize      = "oversize" // also: nothing can be signed of what was kept
	reasonLittle        = "too-little-content"
)

// reasonNever is the reason for Allowed: the message is on the never-list.
const reasonNever = "never"

// skipped is the decision to not judge. Mail of authenticated senders and local
// networks is mostly outgoing: it gets no header.
func skipped(reason string) Decision {
	d := Decision{Verdict: Skipped, Action: Tag, Reason: reason}
	if reason == reasonAuthenticated || reason == reasonLocal {
		d.Action = Accept
	}
	return d
}

// unsigned is the decision about a message without a signature. One that was cut
// off may have had enough content: its size is the reason.
func unsigned(truncated bool) Decision {
	if truncated {
		return skipped(reasonOversize)
	}
	return skipped(reasonLittle)
}

// Policy maps evidence to a verdict and its action.
type Policy struct {
	Spam, Bulk, Clean Action // "" means Tag
	BulkThreshold     uint64 // sightings from which a message is bulk; 0: never
}

// Decision is the outcome for one message.
type Decision struct {
	Verdict    Verdict
	Action     Action
	Class      bloomdb.Class         // of spam; ClassOther where none is known
	Reason     string                // why it was skipped, allowed or failed; else ""
	Signatures []signature.Signature // those that decided, the strongest first
	Count      uint64                // sightings, all sites summed
	Sites      int                   // sites behind the verdict

	// Of the first signature, where it is a sketch: the keys found, and how many of
	// them are needed. Else both are 0.
	Found, Need int

	Votes int // sites that vote for it, of those that are heard by their votes

	Limits signature.Limits // that bit while the message was signed and judged
}

// Decide is pure: the same evidence gives the same decision. A message that is
// not signed had too little content; it is never called spam or bulk.
func (p Policy) Decide(e bloomdb.Evidence, signed bool) Decision {
	if !signed {
		return unsigned(false)
	}
	d := Decision{Verdict: Clean, Action: p.Clean, Count: e.Count, Sites: e.Sites, Votes: e.Votes}
	switch {
	case e.Listed:
		d.Verdict, d.Action, d.Class = Spam, p.Spam, e.Class
		for _, m := range e.Matches {
			if !m.Revoked {
				if len(d.Signatures) == 0 {
					d.Found, d.Need = m.Found, m.Need
				}
				d.Signatures = append(d.Signatures, m.Signature)
			}
		}
	case e.Never:
		d.Verdict, d.Reason = Allowed, reasonNever
	case p.BulkThreshold > 0 && e.Count >= p.BulkThreshold:
		d.Verdict, d.Action = Bulk, p.Bulk
	}
	if d.Action == "" {
		d.Action = Tag
	}
	return d
}
