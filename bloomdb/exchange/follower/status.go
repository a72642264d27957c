package follower

import (
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// SiteStatus is the state of following one other site.
type SiteStatus struct {
	Site    string           `json:"site"`
	Trust   string           `json:"trust"`   // full, vote or none
	Head    streams.Position `json:"head"`    // the newest known delta
	Applied streams.Position `json:"applied"` // the newest delta in our database

	// Lag is the number of deltas between the two. It is at least 1 while the stream,
	// according to Redis, continues after Head and was not read completely.
	Lag uint64 `json:"lag"`

	// LagSeconds is for how long data of the site has been waiting to be applied; 0 if none
	// waits.
	LagSeconds float64 `json:"lag_seconds"`

	Known    time.Time         `json:"-"`                  // when its first news arrived
	Heard    *time.Time        `json:"heard,omitempty"`    // when its last news arrived
	Snapshot *streams.Position `json:"snapshot,omitempty"` // position announced for its snapshot; nil: none
	Loading  *Progress         `json:"loading,omitempty"`  // its snapshot is being read

	// SkewSeconds is how far the site's clock is ahead of ours, negative if behind,
	// including the transmission time. Clock means that it is off by more than an hour.
	// Records of a site that is ahead by that much are held back.
	SkewSeconds float64 `json:"skew_seconds"`
	Clock       bool    `json:"clock,omitempty"`

	// Stale is the site's position if that is before an earlier one: the site runs on an
	// older state folder, and its deltas are refused.
	Stale *streams.Position `json:"stale,omitempty"`

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

// Status returns the state of following each other site, by name. It is never nil.
func (f *Follower) Status() []SiteStatus {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	sites := make([]SiteStatus, 0, len(f.origins))
	for _, o := range f.origins {
		sites = append(sites, f.siteStatus(o, now))
	}
	slices.SortFunc(sites, func(a, b SiteStatus) int { return strings.Compare(a.Site, b.Site) })
	return sites
}

func (f *Follower) siteStatus(o *origin, now time.Time) SiteStatus {
	trust := f.db.TrustOf(o.site)
	applied := f.cursor(o.site)
	s := SiteStatus{
		Site: o.site, Trust: trust.String(), Muted: f.db.Muted(o.site),
		Head: o.head, Applied: applied, Known: o.since,
		SkewSeconds: o.skew.Round(time.Millisecond).Seconds(), Clock: o.skew.Abs() > maxSkew,
		Gaps: o.openGaps(), Votes: o.votes, Refused: f.refused.Of(o.site),
	}
	if trust == wire.TrustFull {
		s.Lag = applied.Lag(o.head)
		if o.claim.After(o.at) {
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
	if stale := o.stale; stale != (streams.Position{}) {
		s.Stale = &stale
	}
	if l := o.loading; l != nil {
		s.Loading = &Progress{Chunks: l.next, Of: l.manifest.Chunks()}
	}
	return s
}
