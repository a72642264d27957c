package api

import "time"

// The states of a site. If several are true, the first of them counts.
const (
	StateSelf    = "self"    // this site
	StateDropped = "dropped" // muted, and its filters are deleted
	StateMuted   = "muted"   // its filters are kept and not used; its records are rejected
	StateIgnored = "ignored" // it is not trusted, or others are configured as peers
	StateClock   = "clock"   // its clock is more than an hour off; records from the future are kept back
	StateStale   = "stale"   // it runs on an older state folder; its records are rejected
	StateCapped  = "capped"  // over its cap until the period ends
	StateLoading = "loading" // its snapshot is being read, or will be: nothing of it is held yet
	StateSilent  = "silent"  // no record for a minute, or never
	StateHeard   = "heard"
)

// Site is a site of the federation.
type Site struct {
	Site   string `json:"site"`
	State  string `json:"state"`
	Trust  string `json:"trust,omitempty"` // full, vote or none; absent for this site
	Lives  int    `json:"lives"`           // epochs that are held; a site begins one with a new state folder or federation key
	Cells  int64  `json:"cells"`           // bits and cells that are held
	Memory int64  `json:"memory_bytes"`

	// Fill is the share of its caps that the site has used, 0 to 1, by kind of filter.
	Fill map[string]float64 `json:"fill,omitempty"`

	// Error is the chance that the site's filters list a signature that nobody reported.
	// ErrorShare is its part of the sum over all sites.
	Error      float64 `json:"error"`
	ErrorShare float64 `json:"error_share"`

	*Link // nil: no connection to the site is known
}

// IsIgnored reports whether an administrator of this site has muted or dropped the site.
func (s Site) IsIgnored() bool { return s.State == StateMuted || s.State == StateDropped }

// IsBehind reports whether reports of the site may be missing here although it is trusted.
func (s Site) IsBehind() bool {
	switch s.State {
	case StateSelf, StateDropped, StateMuted, StateIgnored:
		return false
	case StateHeard:
		return s.Link != nil && s.Gaps > 0
	}
	return true
}

// IsSilent reports whether the site is not heard, so that its lag and its gaps are not known.
func (s Site) IsSilent() bool { return s.State == StateSilent || s.Link == nil || s.Heard == nil }

// Link is the state of the exchange with another site.
type Link struct {
	Site  string    `json:"-"`
	Known time.Time `json:"-"` // when its first news arrived; zero: at the start of the daemon

	Lag         uint64           `json:"lag"`                 // deltas that are not applied yet
	LagSeconds  float64          `json:"lag_seconds"`         // age of the oldest of them
	Heard       *time.Time       `json:"heard,omitempty"`     // time of its last record
	SkewSeconds float64          `json:"skew_seconds"`        // its clock minus ours
	Clock       bool             `json:"clock,omitempty"`     // the skew is more than an hour, either way
	Stale       bool             `json:"stale,omitempty"`     // its position is before an earlier one
	Chunks      int              `json:"chunks,omitempty"`    // of its snapshot that were read so far
	ChunksOf    int              `json:"chunks_of,omitempty"` // of the snapshot that is being read; 0: none
	Votes       uint64           `json:"votes,omitempty"`     // stamp of its votes; 0: none are held
	Gaps        int64            `json:"gaps"`                // times that deltas were missing and did not arrive later
	Refused     map[string]int64 `json:"refused,omitempty"`   // rejected records since the start, by cause
}

// SiteList contains this site first, then the others by name.
type SiteList struct {
	Sites []Site `json:"sites"`

	// Refused counts the rejected records of senders that are none of these sites, since
	// the start and by cause.
	Refused map[string]int64 `json:"refused,omitempty"`

	// NewSite reports whether nothing can be common at this site yet: see Explanation.
	NewSite bool `json:"new_site,omitempty"`

	// RedisFault is why Redis cannot be used, and Notes are the other reasons why sites are not
	// heard, one sentence each.
	RedisFault string   `json:"redis_fault,omitempty"`
	Notes      []string `json:"notes,omitempty"`
}

// SiteRequest mutes a site, restores it, or drops it.
type SiteRequest struct {
	Site     string `json:"site"`
	Undo     bool   `json:"undo,omitempty"` // to mute: restore it
	Reporter string `json:"reporter,omitempty"`
}

// SiteReceipt is a site before and after a SiteRequest.
type SiteReceipt struct {
	Before Site `json:"before"`
	Now    Site `json:"now"`
}
