package api

import (
	"encoding/json"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/overview"
)

// Answer is the verdict on a message, with its main reasons.
type Answer struct {
	Verdict string        `json:"verdict"`
	Class   bloomdb.Class `json:"class,omitzero"`   // the gravest of its reports; absent: none is known
	Kinds   []string      `json:"kinds,omitempty"`  // kinds of signatures that are listed
	Domain  string        `json:"domain,omitempty"` // the link domain that listed it
	Count   uint64        `json:"count"`            // sightings of the message, all sites summed
	Sites   int           `json:"sites"`            // sites that reported it; if there are none, that counted it
	Votes   int           `json:"votes,omitempty"`  // sites that vote for it
	ID      string        `json:"id,omitempty"`     // of the first listed signature, else of the first counting one
	Never   bool          `json:"never,omitempty"`  // the message is on the never-list

	// Overlap is the likeness to a reported message. Absent unless ID is that of a sketch.
	Overlap *Overlap `json:"overlap,omitempty"`
}

// Overlap is the likeness of a message and a reported one, in keys of their sketches.
type Overlap struct {
	Found int `json:"found"` // keys of the reported message that this one has
	Need  int `json:"need"`  // keys that are needed for a match
	Keys  int `json:"keys"`  // keys that were looked up, with those of the text around

	By string `json:"by,omitempty"` // of a shape: what joined the structure of the page
}

// Explanation is an Answer with all facts about each signature.
type Explanation struct {
	Answer

	// Spared is the From domain of the request if near matches do not list mail that is proved to
	// be from it, and would list this message otherwise. Absent: they would not, or the site does
	// not know the domain.
	Spared string `json:"spared,omitempty"`

	// NewSite reports that Spared is not known here, but this site is new: then near matches list mail
	// of a proven sender only with nearly all of what was reported.
	NewSite bool `json:"new_site,omitempty"`

	// Backing is the weight behind the message at this site. Absent: nobody here reported or
	// revoked it.
	Backing *Backing `json:"backing,omitempty"`

	// Unheard are the sites whose latest reports may be missing here: those that are silent or
	// rejected, and those with gaps in their records.
	Unheard []Site `json:"unheard,omitempty"`

	Signatures []Trace       `json:"signatures"`
	Sketches   []SketchTrace `json:"sketches,omitempty"`
	Domains    []DomainTrace `json:"domains,omitempty"`
}

// Backing is the weight of the reporters of this site who reported or revoked a message.
type Backing struct {
	Reporters uint64  `json:"reporters"` // with a weight, whose latest statement is a report
	Reports   float64 `json:"reports"`   // weight of their reports
	Need      float64 `json:"need"`      // weight of reports that lists the message
	Revokes   float64 `json:"revokes"`   // weight of revocations
	Quorum    float64 `json:"quorum"`    // weight of revocations that revokes the message
}

// Trace is the wire form of bloomdb.Trace. The newest generation comes first.
type Trace struct {
	Kind    string  `json:"kind"`
	Digest  string  `json:"digest"`
	ID      string  `json:"id"`
	Listed  bool    `json:"listed"`          // reported, and not revoked since
	Never   bool    `json:"never,omitempty"` // reported, but on the never-list, or settled as wanted
	Spam    []Trail `json:"spam,omitempty"`
	Revoked []Trail `json:"revoked,omitempty"`

	// Contested are the generations in which it was both reported and revoked.
	Contested []ContestedTrail `json:"contested,omitempty"`

	Counts []Trail `json:"counts,omitempty"`
	Votes  []Vote  `json:"votes,omitempty"` // for the text and the body
	Burst  *Burst  `json:"burst,omitempty"` // for counting signatures, if the daemon keeps recent counts
}

// Trail is the part of one site in one generation of a Trace.
type Trail struct {
	Site       string          `json:"site"`
	Generation int64           `json:"generation"`
	Start      time.Time       `json:"start"`               // begin of the generation's period
	Classes    []bloomdb.Class `json:"classes,omitempty"`   // of the site's reports, the gravest first
	Retouched  bool            `json:"retouched,omitempty"` // a masked bit hides this report
	Count      uint64          `json:"count,omitempty"`
}

// ContestedTrail is a generation in which a signature was reported and revoked, at all sites together.
type ContestedTrail struct {
	Generation int64     `json:"generation"`
	Start      time.Time `json:"start"`   // begin of the generation's period
	Changes    int       `json:"changes"` // reports and revocations in turn, of at most 16; the last one decides
	Last       string    `json:"last"`    // report or revoke
}

// Vote is the vote of a site that is trusted for votes only.
type Vote struct {
	Site  string    `json:"site"`
	Since time.Time `json:"since"`           // begin of the reports in it
	Made  time.Time `json:"made"`            // publication by the site
	Stale bool      `json:"stale,omitempty"` // too old to count
}

// Burst is an estimate of how often this site saw a message recently, see bloomdb.Burst.
type Burst struct {
	Seconds float64 `json:"seconds"` // length of the time that was counted; it ends now
	Count   uint64  `json:"count"`
	AtLeast bool    `json:"at_least,omitempty"` // Count is a lower bound
	Missed  bool    `json:"missed,omitempty"`   // too many messages arrived for all to be counted
}

// SketchTrace is the wire form of bloomdb.SketchTrace. The newest generation comes first.
type SketchTrace struct {
	Kind    string        `json:"kind"`
	Groups  int           `json:"groups"` // that were looked up
	Spam    []SketchTrail `json:"spam,omitempty"`
	Revoked []SketchTrail `json:"revoked,omitempty"`
}

// SketchTrail is the best group of one site in one generation.
type SketchTrail struct {
	Site       string    `json:"site"`
	Generation int64     `json:"generation"`
	Start      time.Time `json:"start"` // begin of the generation's period
	ID         string    `json:"id"`    // of the group
	Found      int       `json:"found"`
	Common     int       `json:"common,omitempty"` // others that were reported, but are common at this site
	Need       int       `json:"need"`
	Weak       int       `json:"weak"` // keys that are needed with other evidence
	Keys       int       `json:"keys"`
	By         string    `json:"by,omitempty"` // of a shape: what joins the structure of the page
}

// DomainTrace is the wire form of bloomdb.DomainTrace.
type DomainTrace struct {
	Domain    string   `json:"domain"`
	Ignored   bool     `json:"ignored,omitempty"`   // on a list of domains that are no evidence
	Campaigns uint64   `json:"campaigns,omitempty"` // reported at this site
	Sightings uint64   `json:"sightings,omitempty"` // at this site, in mail that was not listed
	Alone     bool     `json:"alone,omitempty"`     // the domain alone lists a message
	NotAlone  string   `json:"not_alone,omitempty"` // why it does not, see judging.Doubt
	Reported  []string `json:"reported,omitempty"`  // sites that reported a message with it, and did not revoke

	// OrdinaryRate is the upper limit, at 99 %, of the share of innocent mail with links that has
	// the domain. Absent: nothing is known.
	OrdinaryRate float64 `json:"ordinary_rate,omitempty"`
}

// Receipt is the answer to a report or a revocation that is on disk.
type Receipt struct {
	IDs     []string `json:"ids"`
	Verdict string   `json:"verdict,omitempty"` // from now on; absent from older daemons

	// RevokedUntil is set if a report has no effect yet: the message was reported and revoked
	// too often in this period, and stays revoked until the period ends.
	RevokedUntil time.Time `json:"revoked_until,omitzero"`

	// Sum and Quorum are set if more reporters are needed: the weight of those who agree,
	// and the weight that is needed.
	Sum    float64 `json:"sum,omitempty"`
	Quorum float64 `json:"quorum,omitempty"`

	Known bool `json:"known,omitempty"` // the reporter had made the same statement before

	Idle bool `json:"idle,omitempty"` // a revocation without effect: nobody had reported the message

	// WaitsUntil is set if an idle revocation takes a listing back that arrives from another
	// site before then.
	WaitsUntil time.Time `json:"waits_until,omitzero"`

	Settled bool `json:"settled,omitempty"` // an administrator has settled the message as the opposite

	// LikeMails is the number of mails of the last day that a report hits and that nobody
	// reported, with a copy for each recipient; LikeSenders that of their senders, as far as
	// known. Held is set if the report lists nothing because of them, until a second reporter or
	// an administrator agrees.
	LikeMails   uint64 `json:"like_mails,omitempty"`
	LikeSenders uint64 `json:"like_senders,omitempty"`
	Held        bool   `json:"held,omitempty"`

	Holds string `json:"holds,omitempty"` // one sentence: what holds now, here and elsewhere, and from when

	Offer string `json:"offer,omitempty"` // "retouch": the same false positive came back
}

// Status is the state of the daemon.
type Status struct {
	Version  string          `json:"version"`
	Database bloomdb.Status  `json:"database"`
	Reports  ledger.Status   `json:"reports"`
	Daemon   json.RawMessage `json:"daemon,omitempty"` // facts of the daemon's other parts

	Overview *overview.Overview `json:"overview,omitempty"` // absent from older daemons
}

// WebLink is the address of the site's page, with a key that signs the caller in. It works
// once, within five minutes.
type WebLink struct {
	URL string `json:"url"`
}

// Checked is the result of a check of the state folder.
type Checked struct {
	Faults []string `json:"faults"` // one for each damaged file
}

// Whoami is the daemon's view of the caller.
type Whoami struct {
	Name   string   `json:"name"`
	Origin string   `json:"origin"` // unix:UID or tcp:CLIENT
	May    []string `json:"may"`    // of ask, report, speak (for others), administrate
}
