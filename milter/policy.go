package milter

import (
	"cmp"
	"fmt"
	"maps"
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

// mildness orders the actions by what they do to a message that was wanted: tagged
// it is delivered, held it is found again, deferred or refused its sender hears of
// it, discarded nobody does.
var mildness = map[Action]int{Accept: 0, Tag: 1, Quarantine: 2, Tempfail: 3, Reject: 4, Discard: 5}

// atMostTag makes an action one that delivers.
func (a Action) atMostTag() Action {
	if mildness[a] > mildness[Tag] {
		return Tag
	}
	return a
}

// severity orders the verdicts of a judged message.
var severity = map[Verdict]int{Allowed: 0, Clean: 1, Bulk: 2, Spam: 3}

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
	Spam, Bulk, Clean Action                   // "" means Tag
	Classes           map[bloomdb.Class]Action // of spam that was reported as such; none or "" means as Spam
	BulkThreshold     uint64                   // sightings from which a message is bulk; 0: never
}

// over is p with the rest from below: what p leaves empty, below decides.
func (p Policy) over(below Policy) Policy {
	p.Spam, p.Bulk, p.Clean = cmp.Or(p.Spam, below.Spam), cmp.Or(p.Bulk, below.Bulk), cmp.Or(p.Clean, below.Clean)
	p.BulkThreshold = cmp.Or(p.BulkThreshold, below.BulkThreshold)
	classes := maps.Clone(below.Classes)
	for class, action := range p.Classes {
		if action == "" {
			continue
		}
		if classes == nil {
			classes = make(map[bloomdb.Class]Action)
		}
		classes[class] = action
	}
	p.Classes = classes
	return p
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
	Short  bool             // only its beginning was judged, as its sender is set back

	// Of a message whose recipients have policies of their own: the one that decided,
	// "" for the general one and "allow:NAME" for a rule that allows some of them, and
	// those that would have done more to it.
	Policy string
	Milder []string
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
		d.Verdict, d.Action, d.Class = Spam, cmp.Or(p.Classes[e.Class], p.Spam), e.Class
		for _, m := range e.Matches {
			if !m.Revoked {
				if len(d.Signatures) == 0 {
					d.Found, d.Need = m.Found, m.Need
				}
				d.Signatures = append(d.Signatures, m.Signature)
			}
		}
	case e.Never:
		d.Verdict, d.Action, d.Reason = Allowed, p.Clean.atMostTag(), reasonNever
	case p.BulkThreshold > 0 && e.Count >= p.BulkThreshold:
		d.Verdict, d.Action = Bulk, p.Bulk
	}
	if d.Action == "" {
		d.Action = Tag
	}
	return d
}
