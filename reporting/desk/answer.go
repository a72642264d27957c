package desk

import (
	"math"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// Judge returns the evidence on a message.
func (d *Desk) Judge(set signature.Set) bloomdb.Evidence { return d.db.Judge(set) }

// Check returns the evidence on a message, and an answer without a verdict.
func (d *Desk) Check(set signature.Set) (api.Answer, bloomdb.Evidence) {
	e := d.db.Judge(set)
	return newAnswer(set, e), e
}

func newAnswer(set signature.Set, e bloomdb.Evidence) api.Answer {
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
	a.Kinds = kinds(listed)
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

// Explain returns the evidence on a message, and an explanation without a verdict.
// From is the domain that the message claims to be from; it is taken as proven only for Spared.
func (d *Desk) Explain(set signature.Set, from string) (api.Explanation, bloomdb.Evidence) {
	a, e := d.Check(set)
	return api.Explanation{
		Answer:     a,
		Spared:     d.db.JudgeFrom(set, bloomdb.Sender{From: from}).Sender,
		Signatures: newTraces(set, e, d.db.Explain(set)),
		Sketches:   newSketchTraces(d.db.ExplainSketches(set)),
		Domains:    newDomainTraces(d.db.ExplainDomains(set)),
	}, e
}

func newTraces(set signature.Set, e bloomdb.Evidence, traces []bloomdb.Trace) []api.Trace {
	listed, spared := map[signature.Signature]bool{}, map[signature.Signature]bool{}
	for _, m := range e.Matches {
		listed[m.Signature] = !m.Revoked
	}
	for _, m := range e.Spared {
		spared[m.Signature] = true
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
	last := action(ledger.Spam)
	if c.Rung%2 == 1 {
		last = action(ledger.Ham)
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

func newSketchTraces(traces []bloomdb.SketchTrace) []api.SketchTrace {
	return each(traces, func(t bloomdb.SketchTrace) api.SketchTrace {
		return api.SketchTrace{Kind: t.Kind.String(), Groups: t.Groups, Spam: each(t.Spam, newSketchTrail), Revoked: each(t.Revoked, newSketchTrail)}
	})
}

func newSketchTrail(t bloomdb.SketchTrail) api.SketchTrail {
	return api.SketchTrail{
		Site: t.Site, Generation: t.Generation, Start: t.Start.UTC(), ID: t.Anchor.ID(),
		Found: t.Found, Need: t.Need, Weak: t.Weak, Keys: t.Keys, By: t.By,
	}
}

func newDomainTraces(traces []bloomdb.DomainTrace) []api.DomainTrace {
	return each(traces, func(t bloomdb.DomainTrace) api.DomainTrace {
		wire := api.DomainTrace{Domain: t.Domain, Ignored: t.Ignored(), Campaigns: t.Campaigns, Sightings: t.Sightings,
			OrdinaryRate: figure(t.OrdinaryRate), Alone: t.Alone(), NotAlone: string(t.Doubt)}
		if t.OrdinaryRate == 1 {
			wire.OrdinaryRate = 0
		}
		if t.Reported != nil && !t.Reported.Revoked {
			wire.Reported = t.Reported.Sites
		}
		return wire
	})
}

func ids(signatures []signature.Signature) []string {
	list := make([]string, len(signatures))
	for i, s := range signatures {
		list[i] = s.ID()
	}
	return list
}

// kinds returns the names of the kinds in order, each once.
func kinds(signatures []signature.Signature) []string {
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
