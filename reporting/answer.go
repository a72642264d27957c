package reporting

import (
	"encoding/json"
	"math"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// Answer is what /v1/check says about a message.
type Answer struct {
	Verdict string        `json:"verdict"`
	Class   bloomdb.Class `json:"class,omitzero"`   // the gravest it was reported as; absent where none is known
	Kinds   []string      `json:"kinds,omitempty"`  // kinds that are listed
	Domain  string        `json:"domain,omitempty"` // a link's, that listed it
	Count   uint64        `json:"count"`            // how often the message was seen, all sites summed
	Sites   int           `json:"sites"`            // sites that reported it, or else counted it
	Votes   int           `json:"votes,omitempty"`  // sites heard by their votes that vote for it
	ID      string        `json:"id,omitempty"`     // the first listed signature, else the first counting one
	Never   bool          `json:"never,omitempty"`  // on the never-list

	// Overlap is there where ID is a sketch: how alike a reported message is.
	Overlap *Overlap `json:"overlap,omitempty"`
}

// newAnswer puts evidence and verdict about set together.
func newAnswer(set signature.Set, e bloomdb.Evidence, verdict string) Answer {
	var listed []signature.Signature
	var overlap *Overlap // of the first
	for _, m := range e.Matches {
		if !m.Revoked {
			if len(listed) == 0 {
				overlap = overlapOf(m)
			}
			listed = append(listed, m.Signature)
		}
	}
	a := Answer{Verdict: verdict, Class: e.Class, Kinds: kinds(listed), Domain: listingDomain(e), Count: e.Count, Sites: e.Sites, Votes: e.Votes, Never: e.Never, Overlap: overlap}
	switch {
	case len(listed) > 0:
		a.ID = listed[0].ID()
	case len(set.Counting) > 0:
		a.ID = set.Counting[0].ID()
	}
	return a
}

// Explanation is what /v1/explain says: the answer, and for each signature
// everything that speaks for or against it.
type Explanation struct {
	Answer
	Signatures []Trace       `json:"signatures"`
	Sketches   []SketchTrace `json:"sketches,omitempty"`
	Domains    []DomainTrace `json:"domains,omitempty"`
}

// Trace is a bloomdb.Trace on the wire; the newest generation comes first.
type Trace struct {
	Kind    string  `json:"kind"`
	Digest  string  `json:"digest"`
	ID      string  `json:"id"`
	Listed  bool    `json:"listed"`          // reported, and not revoked since
	Never   bool    `json:"never,omitempty"` // reported, but it does not count: the never-list has it
	Spam    []Trail `json:"spam,omitempty"`
	Revoked []Trail `json:"revoked,omitempty"`
	Counts  []Trail `json:"counts,omitempty"`
	Votes   []Vote  `json:"votes,omitempty"` // for the text and the body
	Burst   *Burst  `json:"burst,omitempty"` // for counting signatures, where the daemon keeps it
}

// Burst is how often this site saw a message lately: an estimate, see
// bloomdb.Burst.
type Burst struct {
	Seconds float64 `json:"seconds"` // the time that was counted, up to now
	Count   uint64  `json:"count"`
	AtLeast bool    `json:"at_least,omitempty"` // so often or more
	Missed  bool    `json:"missed,omitempty"`   // too many messages came for all to be counted
}

// Vote is the word of a site that is heard by its votes.
type Vote struct {
	Site  string    `json:"site"`
	Since time.Time `json:"since"`           // of reports from then on
	Made  time.Time `json:"made"`            // when the site published it
	Stale bool      `json:"stale,omitempty"` // too long ago to count
}

func newVotes(trails []bloomdb.VoteTrail) []Vote {
	var list []Vote
	for _, t := range trails {
		list = append(list, Vote{t.Site, t.Since.UTC(), t.Made.UTC(), t.Stale})
	}
	return list
}

func newBurst(b *bloomdb.Burst) *Burst {
	if b == nil {
		return nil
	}
	return &Burst{math.Round(b.Covers.Seconds()), b.Count, b.AtLeast, b.Missed}
}

// Trail is one generation's and site's part of a Trace.
type Trail struct {
	Site       string          `json:"site"`
	Generation int64           `json:"generation"`
	Start      time.Time       `json:"start"`               // begin of the generation's period
	Classes    []bloomdb.Class `json:"classes,omitempty"`   // as which the site reported it, the gravest first
	Retouched  bool            `json:"retouched,omitempty"` // a masked bit hides this report
	Count      uint64          `json:"count,omitempty"`
}

func newExplanation(a Answer, e bloomdb.Evidence, set signature.Set, traces []bloomdb.Trace) Explanation {
	listed := map[signature.Signature]bool{}
	for _, m := range e.Matches {
		listed[m.Signature] = !m.Revoked
	}
	spared := map[signature.Signature]bool{}
	for _, m := range e.Spared {
		spared[m.Signature] = true
	}
	wire := NewRequest(set).Signatures
	x := Explanation{Answer: a, Signatures: make([]Trace, len(traces))}
	for i, t := range traces {
		x.Signatures[i] = Trace{
			Kind: wire[i].Kind, Digest: wire[i].Digest, ID: t.Signature.ID(),
			Listed: listed[t.Signature], Never: spared[t.Signature],
			Spam: newTrails(t.Spam), Revoked: newTrails(t.Revoked), Counts: newTrails(t.Counts), Votes: newVotes(t.Votes), Burst: newBurst(t.Burst),
		}
	}
	return x
}

func newTrails(trails []bloomdb.Trail) []Trail {
	var list []Trail
	for _, t := range trails {
		list = append(list, Trail{t.Site, t.Generation, t.Start.UTC(), t.Classes, t.Retouched, t.Count})
	}
	return list
}

// Receipt is what /v1/report and /v1/revoke say when the record is on disk.
type Receipt struct {
	IDs     []string `json:"ids"`
	Verdict string   `json:"verdict,omitempty"` // from now on; empty from a daemon that does not say

	// RevokedUntil is set where a report has no effect yet: the message was
	// revoked in this period, and until its end the revocation wins.
	RevokedUntil time.Time `json:"revoked_until,omitzero"`

	// Sum and Quorum are there where the message counts and is not listed, or revoked,
	// yet: the weight of those who say so, and how much it takes.
	Sum    float64 `json:"sum,omitempty"`
	Quorum float64 `json:"quorum,omitempty"`

	Idle bool `json:"idle,omitempty"` // a revocation of what nobody had reported: it has no effect

	Offer string `json:"offer,omitempty"` // retouch: the same false positive came back
}

// Status is what /v1/status says.
type Status struct {
	Version  string          `json:"version"`
	Database bloomdb.Status  `json:"database"`
	Reports  ledger.Status   `json:"reports"`
	Daemon   json.RawMessage `json:"daemon,omitempty"` // facts of the daemon's other parts
}
