package api

import (
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// TrailRequest asks for the reports that are kept, the newest first. Each member that is
// set narrows the answer.
type TrailRequest struct {
	Request           // of a message: only reports that share a signature or a sketch with it
	By      string    `json:"by,omitempty"`     // only those of this reporter
	Since   time.Time `json:"since,omitzero"`   // only those made then or later
	Limit   int       `json:"limit,omitempty"`  // at most so many; 0 and over 1,000: 1,000
	Before  uint64    `json:"before,omitempty"` // ReportTrail.Next of the page before
}

// ReportTrail is a page of reports.
type ReportTrail struct {
	Reports []Reported `json:"reports"`
	Next    uint64     `json:"next,omitempty"` // Before of the next page; absent on the last
}

// Reported is one report or revocation that is kept.
type Reported struct {
	ID       uint64        `json:"id"` // on this site; later ones are larger
	At       time.Time     `json:"at"`
	Action   string        `json:"action"`             // report or revoke
	Reporter string        `json:"reporter,omitempty"` // absent if the caller may not see it
	Class    bloomdb.Class `json:"class,omitzero"`
	Origin   string        `json:"origin,omitempty"` // unix:UID, tcp:CLIENT or trap; absent with Reporter
	Weight   float64       `json:"weight"`           // of the reporter, at the time of the report
	State    string        `json:"state"`            // see API.md
	IDs      []string      `json:"ids"`              // of its signatures

	// LikeMails and LikeSenders are why the report was held: unreported mail that it would
	// have hit, and its senders.
	LikeMails   uint64 `json:"like_mails,omitempty"`
	LikeSenders uint64 `json:"like_senders,omitempty"`
}

// ActionsRequest asks for the actions of users that are no reports, the newest first.
type ActionsRequest struct {
	Limit  int    `json:"limit,omitempty"`  // at most so many; 0 and over 1,000: 1,000
	Before uint64 `json:"before,omitempty"` // Actions.Next of the page before
}

// Actions is a page of actions.
type Actions struct {
	Actions []Action `json:"actions"`
	Next    uint64   `json:"next,omitempty"` // Before of the next page; absent on the last
}

// Action is one action of a user that is no report. It was carried out, unless the daemon crashed
// before it was.
type Action struct {
	ID     uint64    `json:"id"` // on this site; later ones are larger
	At     time.Time `json:"at"`
	Action string    `json:"action"` // never, remove, retouch, settle, undo, weight, mute, unmute or drop
	By     string    `json:"by"`
	Origin string    `json:"origin"`        // as of a report
	Of     string    `json:"of,omitempty"`  // the reporter or site that it concerns, a note, or as what a message is settled
	IDs    []string  `json:"ids,omitempty"` // of the message's signatures, at most eight
}

// Settler is the reporter of what administrators settle: POST /v1/reports/settle.
const Settler = "settled:"

// UndoRequest withdraws the reports and revocations of one reporter.
type UndoRequest struct {
	By     string    `json:"by"`
	Since  time.Time `json:"since"`
	DryRun bool      `json:"dry_run,omitempty"` // only count

	// A request that would take long is made in steps. Each reads at most Limit reports (0: all)
	// of the reporter, from the latest one on. Before is Undone.Next of the step before; 0 in the
	// first one.
	Limit  int    `json:"limit,omitempty"`
	Before uint64 `json:"before,omitempty"`
}

// Undone is the result of an UndoRequest.
type Undone struct {
	Reports     int `json:"reports"`     // that no longer count
	Revocations int `json:"revocations"` // that no longer count
	Delisted    int `json:"delisted"`    // reports of which a signature or a sketch is revoked now

	// Relisted is the number of revocations of which a signature or a sketch is listed again.
	Relisted int `json:"relisted"`

	// Standing is the number of revocations that no longer have the quorum, of messages that
	// nobody else reports any longer. They stay revoked until they are reported again.
	Standing int `json:"standing"`

	Next uint64 `json:"next,omitempty"` // Before of the next step; absent after the last one
}

// Then returns the sum of two steps, and the Next of the later one.
func (u Undone) Then(step Undone) Undone {
	return Undone{
		u.Reports + step.Reports, u.Revocations + step.Revocations,
		u.Delisted + step.Delisted, u.Relisted + step.Relisted, u.Standing + step.Standing, step.Next,
	}
}

// ContestedRequest asks for the messages that different people reported and revoked, and those of
// which a report is held, the latest first.
type ContestedRequest struct {
	Since  time.Time `json:"since,omitzero"`   // only those reported or revoked then or later
	Limit  int       `json:"limit,omitempty"`  // at most so many; 0 and over 1,000: 1,000
	Before uint64    `json:"before,omitempty"` // Contested.Next of the page before
}

// Contested is a page of contested messages.
type Contested struct {
	Messages []ContestedMessage `json:"messages"`
	Next     uint64             `json:"next,omitempty"` // Before of the next page; absent on the last
}

// ContestedMessage is a message that some reporters reported and others revoked, or of which a
// report is held.
type ContestedMessage struct {
	Report      uint64    `json:"report"` // the latest one, for SettleRequest
	IDs         []string  `json:"ids"`
	At          time.Time `json:"at"`                // of the latest one
	Listed      bool      `json:"listed"`            // now, at this site
	Reports     int       `json:"reports"`           // that are kept
	Revocations int       `json:"revocations"`       // that are kept
	Reporters   []string  `json:"reporters"`         // whose latest word is a report
	Revokers    []string  `json:"revokers"`          // whose latest word is a revocation
	Settled     string    `json:"settled,omitempty"` // spam or wanted; absent: it is not settled

	Held        bool   `json:"held,omitempty"`       // a report waits for a second reporter or an administrator
	LikeMails   uint64 `json:"like_mails,omitempty"` // why it was held: unreported mail that it would have hit
	LikeSenders uint64 `json:"like_senders,omitempty"`
}

// SettleRequest settles what a message is at this site, against later words of others. The
// message is that of the signatures, or that of a report that is kept.
type SettleRequest struct {
	Request
	Report uint64 `json:"report,omitempty"` // in place of signatures
	As     string `json:"as"`               // spam, wanted or never
}

// ReportersRequest asks for the reporter of a name, or for all in the order of their
// names.
type ReportersRequest struct {
	Name  string `json:"name,omitempty"`
	Limit int    `json:"limit,omitempty"` // at most so many; 0 and over 1,000: 1,000
	After string `json:"after,omitempty"` // Reporters.Next of the page before
}

// Reporters is a page of reporters, by name.
type Reporters struct {
	Quorum    float64    `json:"quorum"`
	Reporters []Reporter `json:"reporters"`
	Next      string     `json:"next,omitempty"` // After of the next page; absent on the last
}

// Reporter is a reporter, with the weight of a report that is made now.
type Reporter struct {
	Name        string    `json:"name"`
	Weight      float64   `json:"weight"`
	Override    *float64  `json:"override,omitempty"` // weight set by an administrator, in place of the reputation
	Confirmed   float64   `json:"confirmed"`          // reports that others confirmed; decays
	Refuted     float64   `json:"refuted"`            // reports that others revoked; decays
	Reports     int64     `json:"reports"`            // ever
	Revocations int64     `json:"revocations"`        // ever
	First       time.Time `json:"first,omitzero"`
	Last        time.Time `json:"last,omitzero"`
}

// WeightRequest sets the weight of a reporter. Without a weight the reputation counts
// again.
type WeightRequest struct {
	Name   string   `json:"name"`
	Weight *float64 `json:"weight"`
}

// maxWeight bounds a weight that is set by hand.
const maxWeight = 1000

// Check returns an error for a weight out of range.
func (q WeightRequest) Check() error {
	if q.Weight != nil && !(*q.Weight >= 0 && *q.Weight <= maxWeight) { // NaN, too
		return fmt.Errorf("a weight of %v; want 0 to %d", *q.Weight, maxWeight)
	}
	return nil
}
