// Package answer converts what the database and the ledger return into the types of the API.
// It decides nothing, and has no state.
package answer

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/ledger/search"
	"github.com/spambloom/spambloom/signature"
)

// New returns the answer about a message, without a verdict.
func New(set signature.Set, e bloomdb.Evidence) api.Answer {
	a := api.Answer{Class: e.Class, Domain: listingDomain(e), Count: e.Count, Sites: e.Sites, Votes: e.Votes, Never: e.Never}
	var listed []signature.Signature
	for _, m := range e.Matches {
		if m.Revoked {
			continue
		}
		if len(listed) == 0 {
			a.Overlap = overlapOf(m)
		}
		listed = append(listed, m.Signature)
	}
	a.Kinds = Kinds(listed)
	switch {
	case len(listed) > 0:
		a.ID = listed[0].ID()
	case len(set.Counting) > 0:
		a.ID = set.Counting[0].ID()
	}
	return a
}

// listingDomain returns the domain that listed a message; empty for none.
func listingDomain(e bloomdb.Evidence) string {
	for _, m := range e.Matches {
		if m.Domain != "" && !m.Revoked {
			return m.Domain
		}
	}
	return ""
}

// overlapOf returns nil for an exact match.
func overlapOf(m bloomdb.Match) *api.Overlap {
	if m.Need == 0 {
		return nil
	}
	return &api.Overlap{Found: m.Found, Need: m.Need, Keys: m.Keys, By: m.By}
}

// Traces returns the traces of a message's signatures.
func Traces(set signature.Set, e bloomdb.Evidence, traces []bloomdb.Trace) []api.Trace {
	listed, spared := map[signature.Signature]bool{}, map[signature.Signature]bool{}
	for _, m := range e.Matches {
		listed[m.Signature] = !m.Revoked
	}
	for _, m := range e.Spared {
		spared[m.Signature] = !m.Revoked
	}
	wire := api.NewRequest(set).Signatures
	list := make([]api.Trace, len(traces))
	for i, t := range traces {
		list[i] = api.Trace{
			Kind: wire[i].Kind, Digest: wire[i].Digest, ID: t.Signature.ID(),
			Listed: listed[t.Signature], Never: spared[t.Signature],
			Spam: newTrails(t.Spam), Revoked: newTrails(t.Revoked), Contested: each(t.Contested, newContestedTrail), Counts: newTrails(t.Counts), Votes: newVotes(t.Votes), Burst: newBurst(t.Burst),
		}
	}
	return list
}

// each converts every element of a list. Of an empty list it makes nil, which is absent in
// JSON.
func each[From, To any](from []From, convert func(From) To) (to []To) {
	for _, f := range from {
		to = append(to, convert(f))
	}
	return to
}

func newTrails(trails []bloomdb.Trail) []api.Trail {
	return each(trails, func(t bloomdb.Trail) api.Trail {
		return api.Trail{Site: t.Site, Generation: t.Generation, Start: t.Start.UTC(), Classes: t.Classes, Retouched: t.Retouched, Count: t.Count}
	})
}

// newContestedTrail counts the rungs from 1 on: the first is a report.
func newContestedTrail(c bloomdb.Contest) api.ContestedTrail {
	last := Action(ledger.Spam)
	if c.Rung%2 == 1 {
		last = Action(ledger.Ham)
	}
	return api.ContestedTrail{Generation: c.Generation, Start: c.Start.UTC(), Changes: c.Rung + 1, Last: last}
}

func newVotes(trails []bloomdb.VoteTrail) []api.Vote {
	return each(trails, func(t bloomdb.VoteTrail) api.Vote {
		return api.Vote{Site: t.Site, Since: t.Since.UTC(), Made: t.Made.UTC(), Stale: t.Stale}
	})
}

func newBurst(b *bloomdb.Burst) *api.Burst {
	if b == nil {
		return nil
	}
	return &api.Burst{Seconds: math.Round(b.Covers.Seconds()), Count: b.Count, AtLeast: b.AtLeast, Missed: b.Missed}
}

// SketchTraces returns the traces of a message's sketches.
func SketchTraces(traces []bloomdb.SketchTrace) []api.SketchTrace {
	return each(traces, func(t bloomdb.SketchTrace) api.SketchTrace {
		return api.SketchTrace{Kind: t.Kind.String(), Groups: t.Groups, Spam: each(t.Spam, newSketchTrail), Revoked: each(t.Revoked, newSketchTrail)}
	})
}

func newSketchTrail(t bloomdb.SketchTrail) api.SketchTrail {
	return api.SketchTrail{
		Site: t.Site, Generation: t.Generation, Start: t.Start.UTC(), ID: t.Anchor.ID(),
		Found: t.Found, Common: t.Common, Need: t.Need, Weak: t.Weak, Keys: t.Keys, By: t.By,
	}
}

// DomainTraces returns the traces of a message's link domains.
func DomainTraces(traces []bloomdb.DomainTrace) []api.DomainTrace {
	return each(traces, func(t bloomdb.DomainTrace) api.DomainTrace {
		wire := api.DomainTrace{Domain: t.Domain, Ignored: t.Ignored(), Campaigns: t.Campaigns, Sightings: t.Sightings,
			OrdinaryRate: Figure(t.OrdinaryRate), Alone: t.Alone(), NotAlone: string(t.Doubt)}
		if t.OrdinaryRate == 1 {
			wire.OrdinaryRate = 0
		}
		if t.Reported != nil && !t.Reported.Revoked {
			wire.Reported = t.Reported.Sites
		}
		return wire
	})
}

// IDs returns the IDs of signatures.
func IDs(signatures []signature.Signature) []string {
	list := make([]string, len(signatures))
	for i, s := range signatures {
		list[i] = s.ID()
	}
	return list
}

// Kinds returns the names of the kinds in order, each once.
func Kinds(signatures []signature.Signature) []string {
	var list []string
	seen := map[signature.Kind]bool{}
	for _, s := range signatures {
		if !seen[s.Kind] {
			seen[s.Kind] = true
			list = append(list, s.Kind.String())
		}
	}
	return list
}

// Reported returns a report of the ledger.
func Reported(l ledger.Report) api.Reported {
	return api.Reported{
		ID: l.ID, At: l.At, Action: Action(l.Stance), Reporter: l.Reporter, Class: bloomdb.Class(l.Class), Origin: l.Origin,
		Weight: l.Weight.Float(), State: string(l.State), IDs: IDs(l.Set.Signatures),
		LikeMails: l.Held.Mails, LikeSenders: l.Held.Senders,
	}
}

// Contested returns a contested message of the ledger, without what it is settled as.
func Contested(c search.Contest, isListed bool) api.ContestedMessage {
	return api.ContestedMessage{
		Report: c.Report, IDs: IDs(c.Set.Signatures), At: c.At, Listed: isListed,
		Reports: c.Reports, Revocations: c.Revoked, Reporters: c.By, Revokers: c.Revokers,
		Held: c.IsHeld, LikeMails: c.Held.Mails, LikeSenders: c.Held.Senders,
	}
}

// Reporter returns a reporter of the ledger.
func Reporter(r ledger.Reporter) api.Reporter {
	wire := api.Reporter{
		Name: r.Name, Weight: r.Weight.Float(), Confirmed: Figure(r.Reputation.Confirmed), Refuted: Figure(r.Reputation.Refuted),
		Reports: int64(r.Reports), Revocations: int64(r.Revocations), First: r.First, Last: r.Last,
	}
	if r.Override != nil {
		w := r.Override.Float()
		wire.Override = &w
	}
	return wire
}

// Action returns the name of a stance.
func Action(s ledger.Stance) string {
	if s == ledger.Ham {
		return "revoke"
	}
	return "report"
}

// Figure rounds an estimate to the digits that mean something.
func Figure(v float64) float64 { return math.Round(v*1000) / 1000 }

// RevokedUntil returns the end of the period of a message's last revocation, after which a report
// lists the message again. It is zero if nobody revoked the message.
func RevokedUntil(traces []bloomdb.Trace) (until time.Time) {
	for _, t := range traces {
		for _, trail := range t.Revoked {
			if end := trail.Start.Add(lengthOf(trail)); end.After(until) {
				until = end
			}
		}
	}
	return until
}

// lengthOf returns the length of a generation's period. Generations are numbered from
// 1970 on.
func lengthOf(t bloomdb.Trail) time.Duration {
	return time.Duration(t.Start.Unix()/max(t.Generation, 1)) * time.Second
}

// Like describes unreported mail. Senders are not known of mail before a restart.
func Like(l ledger.Likeness) string {
	mails, senders := "1 mail", "1 sender"
	if l.Mails != 1 {
		mails = fmt.Sprintf("%d mails", l.Mails)
	}
	if l.Senders != 1 {
		senders = fmt.Sprintf("%d senders", l.Senders)
	}
	if l.Senders > 0 {
		mails += " of " + senders
	}
	return "like " + mails + " that nobody reported"
}

// IsListedElsewhere reports whether another site than own has listed a message.
func IsListedElsewhere(e bloomdb.Evidence, own string) bool {
	return slices.ContainsFunc(e.Matches, func(m bloomdb.Match) bool {
		return slices.ContainsFunc(m.Sites, func(site string) bool { return site != own })
	})
}

// NeverList returns entries of the never-list.
func NeverList(entries []bloomdb.NeverEntry) api.NeverList {
	list := api.NeverList{Entries: make([]api.NeverEntry, len(entries))}
	for i, e := range entries {
		list.Entries[i] = api.NeverEntry{ID: e.ID, At: e.At.UTC(), Note: e.Note}
	}
	return list
}

// Retouching returns what a retouch has done, or would do.
func Retouching(r bloomdb.Retouching) api.Retouching {
	wire := api.Retouching{Listings: make([]api.RetouchedListing, len(r.Listings)), Loss: Figure(r.Loss), LossOfOthers: Figure(r.LossOfOthers)}
	for i, l := range r.Listings {
		wire.Listings[i] = api.RetouchedListing{
			ID: l.Signature.ID(), Generation: l.Generation, Start: l.Start.UTC(), Loss: Figure(l.Loss), LossOfOthers: Figure(l.LossOfOthers),
		}
	}
	return wire
}

// Unknown returns what could not be looked up, and why.
func Unknown(ask api.LookupRequest, signed, isWhole bool, since time.Time) (list []string) {
	sinceThen := since.Format("2006-01-02 15:04 MST")
	switch {
	case !signed && ask.QueueID != "":
		return []string{fmt.Sprintf("no message with this queue id was judged since %s", sinceThen)}
	case !signed && isOfSketch(ask.ID):
		return []string{fmt.Sprintf("the id of a sketch is only found in mail that was judged since %s", sinceThen)}
	case !signed && ask.ID != "":
		return []string{fmt.Sprintf("no report with this id is kept here, and no such mail was judged since %s; without the whole signature the filters cannot be asked", sinceThen)}
	case !isWhole:
		return []string{"near-duplicates and link domains cannot be looked up without the message"}
	}
	return nil
}

func isOfSketch(id string) bool {
	kind, _, err := signature.ParseID(id)
	return err == nil && (kind == signature.KindSketch || kind == signature.KindImage || kind == signature.KindShape)
}

// IsReportedElsewhere reports whether reports of other sites than own list a part of a message.
func IsReportedElsewhere(traces []bloomdb.Trace, sketches []bloomdb.SketchTrace, own string) bool {
	return slices.ContainsFunc(traces, func(t bloomdb.Trace) bool { return t.StandsWithout(own) }) ||
		slices.ContainsFunc(sketches, func(t bloomdb.SketchTrace) bool { return t.StandsWithout(own) })
}

// Act returns a noted action.
func Act(a ledger.NotedAct) api.Action {
	return api.Action{ID: a.ID, At: a.At, Action: a.What, By: a.By, Origin: a.Origin, Of: a.Of, IDs: a.IDs}
}

// Backing returns the weight behind a message.
func Backing(b ledger.Backing) *api.Backing {
	return &api.Backing{
		Reporters: b.Voices, Reports: b.Sums[ledger.Spam].Float(), Need: b.Need.Float(),
		Revokes: b.Sums[ledger.Ham].Float(), Quorum: b.Quorum.Float(),
	}
}
