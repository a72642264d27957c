package why_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/why"
)

var heard = time.Date(2026, 11, 19, 10, 37, 0, 0, time.UTC)

// Each site whose reports may be missing is named, with since when or why. A holder of the
// federation key can invent a thousand: eight are named, and the others are counted.
func TestMissing(t *testing.T) {
	link := &api.Link{Heard: &heard, Gaps: 2, SkewSeconds: -7200}
	for state, want := range map[string]string{
		api.StateSilent:  "The reports of mx2 since 2026-11-19 10:37 UTC are missing here: it has not been heard since then.",
		api.StateStale:   "The latest reports of mx2 are refused here: it runs on an older state folder.",
		api.StateClock:   "The latest reports of mx2 may be missing here: its clock is off by -2.0 h.",
		api.StateCapped:  "The latest reports of mx2 are refused here: it is over its cap until the period ends.",
		api.StateLoading: "Some reports of mx2 are missing here: its snapshot is still being read.",
		api.StateHeard:   "Some reports of mx2 are missing here: its records have 2 gaps.",
	} {
		x := &api.Explanation{Unheard: []api.Site{{Site: "mx2", State: state, Link: link}}}
		if got := why.Missing(x); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
	never := &api.Explanation{Unheard: []api.Site{{Site: "mx3", State: api.StateSilent}}}
	if got := why.Missing(never); len(got) != 1 || got[0] != "The latest reports of mx3 are missing here: it has not been heard since the start." {
		t.Errorf("never heard: %q", got)
	}
	many := &api.Explanation{}
	for i := range 1000 {
		many.Unheard = append(many.Unheard, api.Site{Site: fmt.Sprint("fake", i), State: api.StateSilent})
	}
	if got := why.Missing(many); len(got) != 9 || got[8] != "Reports of 992 more sites may be missing here." {
		t.Errorf("of a thousand sites: %q", got)
	}
	if got := why.Missing(&api.Explanation{}); got != nil {
		t.Errorf("of a site that works alone: %q", got)
	}
}

// The weight that is missing is named, and only if it is missing.
func TestWeight(t *testing.T) {
	for want, x := range map[string]api.Explanation{
		"1 reporter here with a weight of 1 reported it; a weight of 2 is needed to list it.": {
			Backing: &api.Backing{Reporters: 1, Reports: 1, Need: 2, Quorum: 2}},
		"3 reporters here with a weight of 1.5 reported it; a weight of 4 is needed to list it.": {
			Backing: &api.Backing{Reporters: 3, Reports: 1.5, Need: 4, Revokes: 2, Quorum: 2}},
		"It was revoked here with a weight of 1; a weight of 2 is needed to end the listing.": {
			Answer: api.Answer{Kinds: []string{"body"}}, Backing: &api.Backing{Reporters: 2, Reports: 2, Need: 2, Revokes: 1, Quorum: 2}},
	} {
		if got := why.Weight(&x); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for name, x := range map[string]api.Explanation{
		"nobody here reported it": {},
		"reported by enough":      {Answer: api.Answer{Kinds: []string{"body"}}, Backing: &api.Backing{Reporters: 2, Reports: 2, Need: 2, Quorum: 2}},
		"revoked by enough":       {Backing: &api.Backing{Revokes: 2, Need: 2, Quorum: 2}},
	} {
		if got := why.Weight(&x); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// No sentence contradicts what stands beside it: a revocation, or a site that was not heard.
func TestReasons(t *testing.T) {
	in := func(generation int64) []api.Trail {
		return []api.Trail{{Site: "mx1", Generation: generation, Start: heard}}
	}
	weak := &api.Backing{Reporters: 2, Reports: 2, Need: 2, Revokes: 1, Quorum: 2}
	silent := []api.Site{{Site: "mx2", State: api.StateSilent}}
	for want, x := range map[string]api.Explanation{
		"reported, and not revoked":                          {Signatures: []api.Trace{{Listed: true, Spam: in(5)}}},
		"reported; the revocations do not end the listing":   {Signatures: []api.Trace{{Listed: true, Spam: in(5)}}, Backing: weak},
		"reported again after a revocation":                  {Signatures: []api.Trace{{Listed: true, Spam: in(5), Revoked: in(5)}}},
		"reported and revoked":                               {Signatures: []api.Trace{{Spam: in(5), Revoked: in(6)}}},
		"reported, and hidden on this site":                  {Signatures: []api.Trace{{Spam: in(6), Revoked: in(5)}}},
		"reported, but on the never-list":                    {Answer: api.Answer{Never: true}, Signatures: []api.Trace{{Never: true, Spam: in(6)}}},
		"reported, but settled or declared as wanted here":   {Signatures: []api.Trace{{Never: true, Spam: in(6)}}},
		"revoked; no report lists it":                        {Signatures: []api.Trace{{Revoked: in(6)}}},
		"not listed by any site":                             {Signatures: []api.Trace{{}}},
		"no report of it counts; here in 1 message":          {Domains: []api.DomainTrace{{Domain: "a.example", Sightings: 1}}},
		"in mail of many senders, so it is no evidence here": {Domains: []api.DomainTrace{{Domain: "a.example", NotAlone: "common"}}},
		"no evidence: it is well known, or in never_alone":   {Domains: []api.DomainTrace{{Domain: "a.example", Ignored: true, Reported: []string{"mx1"}}}},
		"almost only in spam: here in 7 campaigns": {
			Domains: []api.DomainTrace{{Domain: "a.example", Alone: true, Campaigns: 7, Reported: []string{"mx1"}}}},
		"reported; here in 1 campaign and 2 other messages; no evidence alone: too much mail that nobody reported has it": {
			Domains: []api.DomainTrace{{Domain: "a.example", Campaigns: 1, Sightings: 2, NotAlone: "sightings", Reported: []string{"mx1"}}}},
		"reported; not seen here; no evidence alone: too little innocent mail was seen here to know that at most 0.05 % of it has the domain (up to 2 % may)": {
			Domains: []api.DomainTrace{{Domain: "a.example", NotAlone: "mail", OrdinaryRate: 0.02, Reported: []string{"mx2"}}}},
		"5 of 25 features of a reported message; 8 are needed, or 4 with other evidence": {
			Sketches: []api.SketchTrace{{Kind: "sketch", Spam: []api.SketchTrail{{Found: 5, Need: 8, Weak: 4, Keys: 25}}}}},
		"the same page, under two senders' domains: 9 of 9 features of a reported message; 9 are needed; 3 more are in mail of many senders, so they are no evidence here": {
			Sketches: []api.SketchTrace{{Kind: "shape", Spam: []api.SketchTrail{{Found: 9, Need: 9, Keys: 9, Common: 3, By: "two-senders"}}}}},
		"not listed, as far as the sites were heard":                                 {Signatures: []api.Trace{{}}, Unheard: silent},
		"no report of it counts, as far as the sites were heard; here in 3 messages": {Domains: []api.DomainTrace{{Domain: "a.example", Sightings: 3}}, Unheard: silent},
		"9 of 25 features of a reported message; 8 are needed; revoked": {
			Sketches: []api.SketchTrace{{Kind: "sketch", Spam: []api.SketchTrail{{Found: 9, Need: 8, Keys: 25}}, Revoked: []api.SketchTrail{{Found: 9, Need: 8, Keys: 25}}}}},
	} {
		got := why.Reasons(&x)
		if len(got) != 1 || got[0].Text != want {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	for name, trace := range map[string]api.Trace{
		"reported and revoked":              {Spam: in(5), Revoked: in(5)}, // in the same generation
		"reported, and hidden on this site": {Spam: in(5)},
	} {
		if got := why.Standing(&api.Explanation{}, trace); got != name {
			t.Errorf("%q, want %q", got, name)
		}
	}
	near := api.Explanation{Answer: api.Answer{Kinds: []string{"sketch"}}, Sketches: []api.SketchTrace{{Kind: "sketch", Spam: []api.SketchTrail{{Found: 9, Need: 8, Keys: 25}}}}}
	if got := why.Reasons(&near); !got[0].Counts {
		t.Errorf("a near-duplicate is no reason: %+v", got)
	}
}

// A list names what tells messages apart, in words.
func TestKinds(t *testing.T) {
	for want, kinds := range map[string][]string{
		"exact body": {"body"}, "visible text": {"body", "text"}, "similar text, structure of the page": {"body", "sketch", "shape"}, "": nil,
	} {
		if got := why.Kinds(kinds); got != want {
			t.Errorf("%v: %q, want %q", kinds, got, want)
		}
	}
}
