package reporting

import (
	"context"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// TrailRequest asks /v1/reports for the reports that are kept, the newest first.
// Members that are empty do not narrow the answer.
type TrailRequest struct {
	Request           // of a message: the reports that share a signature or a sketch with it
	By      string    `json:"by,omitempty"`     // a reporter
	Since   time.Time `json:"since,omitzero"`   // made then or later
	Limit   int       `json:"limit,omitempty"`  // at most so many; 0 and over 1,000: 1,000
	Before  uint64    `json:"before,omitempty"` // ReportTrail.Next of an earlier answer: goes on there
}

// ReportTrail is a page of reports.
type ReportTrail struct {
	Reports []Reported `json:"reports"`
	Next    uint64     `json:"next,omitempty"` // where more follow: to go on with
}

// Reported is one report or revocation as it is kept.
type Reported struct {
	ID       uint64        `json:"id"` // on this site; later ones are larger
	At       time.Time     `json:"at"`
	Action   string        `json:"action"`             // report or revoke
	Reporter string        `json:"reporter,omitempty"` // empty where it is another one and the caller may not know
	Class    bloomdb.Class `json:"class,omitzero"`
	Origin   string        `json:"origin,omitempty"` // how it came: unix:UID, tcp:CLIENT, trap
	Weight   float64       `json:"weight"`           // of the reporter, when it was made
	State    string        `json:"state"`            // see API.md
	IDs      []string      `json:"ids"`              // of its signatures
}

// UndoRequest takes back what a reporter reported and revoked.
type UndoRequest struct {
	By     string    `json:"by"`
	Since  time.Time `json:"since"`
	DryRun bool      `json:"dry_run,omitempty"` // say what would be done
}

// Undone is what became of an UndoRequest.
type Undone struct {
	Reports     int `json:"reports"`     // that no longer count
	Revocations int `json:"revocations"` // likewise
	Delisted    int `json:"delisted"`    // of the reports, those of which something is revoked now
	// Standing is of the revocations those that stand until the end of their period,
	// as the filters cannot forget them: what they took back can be reported again then.
	Standing int `json:"standing"`
}

// ReportersRequest asks for reporters: the one that is named, else all by name.
type ReportersRequest struct {
	Name  string `json:"name,omitempty"`
	Limit int    `json:"limit,omitempty"` // at most so many; 0 and over 1,000: 1,000
	After string `json:"after,omitempty"` // names after this one
}

// Reporters is a page of reporters, by name.
type Reporters struct {
	Quorum    float64    `json:"quorum"`
	Reporters []Reporter `json:"reporters"`
	Next      string     `json:"next,omitempty"` // where more follow: the After to go on with
}

// Reporter is one reporter and how far they are believed.
type Reporter struct {
	Name        string    `json:"name"`
	Weight      float64   `json:"weight"`             // of a report of now
	Override    *float64  `json:"override,omitempty"` // the administrator's word, in the place of the reputation
	Confirmed   float64   `json:"confirmed"`          // reports that others confirmed; decays
	Refuted     float64   `json:"refuted"`            // reports that others took back; decays
	Reports     int64     `json:"reports"`            // ever
	Revocations int64     `json:"revocations"`        // ever
	First       time.Time `json:"first,omitzero"`
	Last        time.Time `json:"last,omitzero"`
}

// WeightRequest sets the weight of a reporter, or without one leaves it to the reputation again.
type WeightRequest struct {
	Name   string   `json:"name"`
	Weight *float64 `json:"weight"`
}

// Trail asks for the reports that are kept.
func (c *Client) Trail(ctx context.Context, r TrailRequest) (ReportTrail, error) {
	return ask[ReportTrail](ctx, c, "/v1/reports", r)
}

// Undo takes back what a reporter said; durable like Report.
func (c *Client) Undo(ctx context.Context, r UndoRequest) (Undone, error) {
	return ask[Undone](ctx, c, "/v1/undo", r)
}

// Reporters asks how far reporters are believed.
func (c *Client) Reporters(ctx context.Context, r ReportersRequest) (Reporters, error) {
	return ask[Reporters](ctx, c, "/v1/reporters", r)
}

// SetWeight sets a reporter's weight; durable like Report.
func (c *Client) SetWeight(ctx context.Context, r WeightRequest) (Reporter, error) {
	return ask[Reporter](ctx, c, "/v1/reporters/weight", r)
}
