package policy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

// Verdict is the result of judging a message.
type Verdict string

// The verdicts.
const (
	Spam    Verdict = "spam"    // reported and not revoked
	Bulk    Verdict = "bulk"    // seen at least Policy.BulkThreshold times
	Clean   Verdict = "clean"   // judged, and neither of these
	Allowed Verdict = "allowed" // an allow rule matched
	Skipped Verdict = "skipped" // deliberately not judged; Decision.Reason states why

	// Failed is not a judgement: a panic or the deadline came first.
	Failed Verdict = "failed"
)

// Action is the treatment of a message.
type Action string

// The actions.
const (
	Accept     Action = "accept"     // deliver without adding headers
	Tag        Action = "tag"        // deliver with headers
	Quarantine Action = "quarantine" // add headers, and move to the MTA's hold queue
	Reject     Action = "reject"     // 550 5.7.1
	Tempfail   Action = "tempfail"   // 451 4.7.1
	Discard    Action = "discard"    // accept and drop
)

// mildness orders the actions by their effect on wanted mail. Tagged mail is delivered, and
// held mail can be found. The sender of deferred or rejected mail is notified; nobody
// learns of discarded mail.
var mildness = map[Action]int{Accept: 0, Tag: 1, Quarantine: 2, Tempfail: 3, Reject: 4, Discard: 5}

// AtMostTag replaces an action that does not deliver with Tag.
func (a Action) AtMostTag() Action {
	if mildness[a] > mildness[Tag] {
		return Tag
	}
	return a
}

// severity orders the verdicts of judged messages.
var severity = map[Verdict]int{Allowed: 0, Clean: 1, Bulk: 2, Spam: 3}

// Reasons for Skipped, as in the header.
const (
	ReasonAuthenticated = "authenticated"
	ReasonLocal         = "local"
	ReasonOversize      = "oversize" // also: nothing could be signed in the part that was kept
	ReasonLittle        = "too-little-content"
	ReasonGreylist      = "greylist" // a clean message that is deferred once
)

// NewSite is Decision.SparedBy at a site at which nothing can be common yet.
const NewSite = "new-site"

// ReasonNever is the reason for Allowed if the message is on the never-list.
const ReasonNever = "never"

// Skip returns the decision not to judge. Mail of authenticated senders and local
// networks is mostly outgoing and gets no header.
func Skip(reason string) Decision {
	d := Decision{Verdict: Skipped, Action: Tag, Reason: reason}
	if reason == ReasonAuthenticated || reason == ReasonLocal {
		d.Action = Accept
	}
	return d
}

// Unsigned returns the decision about a message without a signature. A truncated message
// may have had enough content, so its size is the reason.
func Unsigned(truncated bool) Decision {
	if truncated {
		return Skip(ReasonOversize)
	}
	return Skip(ReasonLittle)
}

// Policy maps evidence to a verdict and its action.
type Policy struct {
	Spam, Bulk, Clean Action                   // "" means Tag
	Classes           map[bloomdb.Class]Action // for spam reported with that class; missing or "" means as Spam
	BulkThreshold     uint64                   // sightings from which a message is bulk; 0 disables it
}

// over returns p with its empty fields taken from below.
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
	Class      bloomdb.Class         // of spam; ClassOther if unknown
	Reason     string                // why it was skipped, allowed or failed; else ""
	Signatures []signature.Signature // the decisive ones, the strongest first
	Count      uint64                // sightings, all sites summed
	Sites      int                   // sites behind the verdict

	// If the first signature is a sketch: the keys found, and the number needed. Otherwise
	// both are 0.
	Found, Need int
	// By is what joined the structure of a page, if the first signature is a shape.
	By string

	Votes int // sites that vote for it, among the sites with a vote

	Origins []string // of spam: the sites whose reports or votes list it, each once

	Spared string // proven From domain without which near matches would list it
	// SparedBy is NewSite if the domain is not known here, but this site is new; else "".
	SparedBy string

	Limits signature.Limits // reached while the message was signed and judged
	Short  bool             // only its beginning was judged, because its sender is set back

	// Set if recipients of the message have policies of their own. Policy is the decisive
	// one: "" for the general policy, "allow:NAME" for a rule that allows some recipients.
	// Milder lists the policies that would have been stricter.
	Policy string
	Milder []string
}

// Decide is pure: the same evidence gives the same decision. An unsigned message had too
// little content and is never spam or bulk.
func (p Policy) Decide(e bloomdb.Evidence, signed bool) Decision {
	if !signed {
		return Unsigned(false)
	}
	d := Decision{Verdict: Clean, Action: p.Clean, Count: e.Count, Sites: e.Sites, Votes: e.Votes, Spared: e.Sender}
	if e.IsNewSite {
		d.SparedBy = NewSite
	}
	switch {
	case e.Listed:
		d.Verdict, d.Action, d.Class = Spam, cmp.Or(p.Classes[e.Class], p.Spam), e.Class
		for _, m := range e.Matches {
			if !m.Revoked {
				if len(d.Signatures) == 0 {
					d.Found, d.Need, d.By = m.Found, m.Need, m.By
				}
				d.Signatures = append(d.Signatures, m.Signature)
				d.addOrigins(m.Sites)
			}
		}
	case e.Never:
		d.Verdict, d.Action, d.Reason = Allowed, p.Clean.AtMostTag(), ReasonNever
	case p.BulkThreshold > 0 && e.Count >= p.BulkThreshold:
		d.Verdict, d.Action = Bulk, p.Bulk
	}
	if d.Action == "" {
		d.Action = Tag
	}
	return d
}

// addOrigins adds sites to Origins.
func (d *Decision) addOrigins(sites []string) {
	for _, site := range sites {
		if !slices.Contains(d.Origins, site) {
			d.Origins = append(d.Origins, site)
		}
	}
}
