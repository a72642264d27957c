package exchange

import (
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Status is the state of the exchange.
type Status struct {
	// Connected means that news are received and the last command to Redis succeeded.
	Connected bool `json:"connected"`

	// LastError is the last fault, even if it has been overcome.
	LastError   string     `json:"last_error,omitempty"`
	LastErrorAt *time.Time `json:"last_error_at,omitempty"`

	// Published is the last own delta added to the stream. Snapshot is the last one
	// included in this site's snapshot in Redis; nil if there is none.
	Published Position  `json:"published"`
	Snapshot  *Position `json:"snapshot,omitempty"`

	// MovedAside is set after another client has written to this site's stream.
	MovedAside *Foreign `json:"moved_aside,omitempty"`

	Sites []SiteStatus `json:"sites"` // the others, by name

	// Refused counts the refusals of unknown names since the start, by cause.
	Refused map[string]int64 `json:"refused,omitempty"`
}

// SiteStatus is the state of following one other site.
type SiteStatus struct {
	Site    string   `json:"site"`
	Trust   string   `json:"trust"`   // full, vote or none
	Head    Position `json:"head"`    // the newest known delta
	Applied Position `json:"applied"` // the newest delta in our database

	// Lag is the number of deltas between the two. It is at least 1 while the stream,
	// according to Redis, continues after Head and was not read completely.
	Lag uint64 `json:"lag"`

	// LagSeconds is for how long data of the site has been waiting to be applied; 0 if none
	// waits.
	LagSeconds float64 `json:"lag_seconds"`

	Heard    *time.Time `json:"heard,omitempty"`    // when its last news arrived
	Snapshot *Position  `json:"snapshot,omitempty"` // position announced for its snapshot; nil: none
	Loading  *Progress  `json:"loading,omitempty"`  // its snapshot is being read

	// SkewSeconds is how far the site's clock is ahead of ours, negative if behind,
	// including the transmission time. Clock means that it is off by more than an hour.
	// Records of a site that is ahead by that much are held back.
	SkewSeconds float64 `json:"skew_seconds"`
	Clock       bool    `json:"clock,omitempty"`

	// Stale is the site's position if that is before an earlier one: the site runs on an
	// older state folder, and its deltas are refused.
	Stale *Position `json:"stale,omitempty"`

	Muted bool   `json:"muted,omitempty"` // nothing of it is read
	Votes uint64 `json:"votes,omitempty"` // stamp of its votes held here; 0: none

	// Gaps is how often deltas were missing that no snapshot has supplied since.
	Gaps    int64            `json:"gaps"`
	Refused map[string]int64 `json:"refused,omitempty"` // records refused since the start, by cause
}

// Progress is the progress of reading a snapshot.
type Progress struct {
	Chunks int `json:"chunks"`
	Of     int `json:"of"`
}

// Status returns the current state of the exchange.
func (x *Exchange) Status() Status {
	s := Status{Connected: x.link.connected(), Sites: []SiteStatus{}}
	s.Published.Epoch, s.Published.Seq = x.db.Head()
	x.link.mu.Lock()
	if x.link.lastError != "" {
		at := x.link.lastFault
		s.LastError, s.LastErrorAt = x.link.lastError, &at
	}
	x.link.mu.Unlock()

	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	s.Snapshot, s.MovedAside = x.snapshot, x.moved
	s.Refused = byName(x.strangers)
	for _, o := range x.origins {
		s.Sites = append(s.Sites, x.siteStatus(o, now))
	}
	slices.SortFunc(s.Sites, func(a, b SiteStatus) int { return strings.Compare(a.Site, b.Site) })
	return s
}

func (x *Exchange) siteStatus(o *origin, now time.Time) SiteStatus {
	trust := x.db.TrustOf(o.site)
	applied := x.cursor(o.site)
	s := SiteStatus{
		Site: o.site, Trust: trust.String(), Muted: x.db.Muted(o.site),
		Head: o.head, Applied: applied,
		SkewSeconds: o.skew.Round(time.Millisecond).Seconds(), Clock: o.skew.Abs() > maxSkew,
		Gaps: o.openGaps(), Votes: o.votes, Refused: byName(o.refused),
	}
	if trust == wire.TrustFull {
		s.Lag = applied.lag(o.head)
		if o.claim.after(o.at) {
			s.Lag = max(s.Lag, 1)
		}
		if !o.waiting.IsZero() {
			s.LagSeconds = now.Sub(o.waiting).Round(time.Millisecond).Seconds()
		}
	}
	if !o.heard.IsZero() {
		heard := o.heard
		s.Heard = &heard
	}
	if snapshot := o.snapshot; snapshot.Seq > 0 {
		s.Snapshot = &snapshot
	}
	if stale := o.stale; stale != (Position{}) {
		s.Stale = &stale
	}
	if l := o.loading; l != nil {
		s.Loading = &Progress{Chunks: l.next, Of: l.manifest.Chunks()}
	}
	return s
}

// byName returns nil if nothing was counted.
func byName(causes map[cause]int64) map[string]int64 {
	if len(causes) == 0 {
		return nil
	}
	named := make(map[string]int64, len(causes))
	for c, n := range causes {
		named[string(c)] = n
	}
	return named
}
