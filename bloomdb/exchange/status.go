package exchange

import (
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// Status is how the exchange stands.
type Status struct {
	// Connected: news are heard, and the last command to Redis succeeded.
	Connected bool `json:"connected"`

	// LastError is the last fault, also after it was overcome.
	LastError   string     `json:"last_error,omitempty"`
	LastErrorAt *time.Time `json:"last_error_at,omitempty"`

	// Published is the last own delta that went into the stream; Snapshot is up to
	// which of them this site's snapshot in Redis reaches, nil where there is none.
	Published Position  `json:"published"`
	Snapshot  *Position `json:"snapshot,omitempty"`

	// MovedAside is set after another client has written to this site's stream.
	MovedAside *Foreign `json:"moved_aside,omitempty"`

	Sites []SiteStatus `json:"sites"` // the others, by name

	// Refused counts, by cause, what was refused since the start of names that are
	// no site's here.
	Refused map[string]int64 `json:"refused,omitempty"`
}

// SiteStatus is how far one other site is followed.
type SiteStatus struct {
	Site    string   `json:"site"`
	Trust   string   `json:"trust"`   // full, vote or none
	Head    Position `json:"head"`    // the newest delta known to exist
	Applied Position `json:"applied"` // the newest delta in our database

	// Lag is the number of deltas between the two. It is at least 1 while the stream
	// goes on behind Head, by the word of Redis, and was not read to its end.
	Lag uint64 `json:"lag"`

	// LagSeconds is for how long something of the site has been waiting to be
	// applied; 0 where nothing waits.
	LagSeconds float64 `json:"lag_seconds"`

	Heard    *time.Time `json:"heard,omitempty"`    // when its news last came
	Snapshot *Position  `json:"snapshot,omitempty"` // up to where its snapshot reaches, as it says; nil: none
	Loading  *Progress  `json:"loading,omitempty"`  // its snapshot is being read

	// SkewSeconds is by how much the site's clock is ahead of ours; negative:
	// behind. It has the time of the way in it. Clock: it is off by more than an
	// hour. What a site sends that is ahead by so much is held back.
	SkewSeconds float64 `json:"skew_seconds"`
	Clock       bool    `json:"clock,omitempty"`

	// Stale is the site's position if that is before an earlier one: the site runs on an
	// older state folder, and its deltas are refused.
	Stale *Position `json:"stale,omitempty"`

	Muted bool   `json:"muted,omitempty"` // nothing of it is read
	Votes uint64 `json:"votes,omitempty"` // stamp of the votes held of it; 0: none

	// Gaps is how often deltas were missing that no snapshot has brought since.
	Gaps    int64            `json:"gaps"`
	Refused map[string]int64 `json:"refused,omitempty"` // records refused since the start, by cause
}

// Progress is how far a snapshot was read.
type Progress struct {
	Chunks int `json:"chunks"`
	Of     int `json:"of"`
}

// Status tells how the exchange stands now.
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
	if trust == bloomdb.TrustFull {
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

// byName is nil where nothing was counted.
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
