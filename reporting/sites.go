package reporting

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// The states of a site. Where several are true, the first of them is told.
const (
	StateSelf    = "self"    // this site
	StateDropped = "dropped" // muted, and nothing of it is held
	StateMuted   = "muted"   // held, but without a say, and not heard
	StateIgnored = "ignored" // its trust is none, or others are named as peers
	StateClock   = "clock"   // its clock is more than an hour off; what is ahead waits
	StateStale   = "stale"   // it runs on an older state folder; its records are refused
	StateCapped  = "capped"  // over its cap until the period ends
	StateLoading = "loading" // its snapshot is being read
	StateSilent  = "silent"  // no news for a minute, or never
	StateHeard   = "heard"
)

// silence is after how long without news a site is called silent. Heartbeats come
// every two seconds.
const silence = time.Minute

// Link is what the daemon's exchange knows of another site.
type Link struct {
	Site string `json:"-"`

	Lag         uint64           `json:"lag"`                 // deltas that are not applied yet
	LagSeconds  float64          `json:"lag_seconds"`         // for how long one has been waiting
	Heard       *time.Time       `json:"heard,omitempty"`     // when its news last came
	SkewSeconds float64          `json:"skew_seconds"`        // its clock is ahead of ours by so much
	Clock       bool             `json:"clock,omitempty"`     // that is more than an hour, either way
	Stale       bool             `json:"stale,omitempty"`     // its position is before an earlier one
	Chunks      int              `json:"chunks,omitempty"`    // of its snapshot that were read, while it is
	ChunksOf    int              `json:"chunks_of,omitempty"` // of so many; 0: none is being read
	Votes       uint64           `json:"votes,omitempty"`     // stamp of its votes; 0: none are held
	Gaps        int64            `json:"gaps"`                // times that deltas were missing and have not come since
	Refused     map[string]int64 `json:"refused,omitempty"`   // records, by cause, since the start
}

// Site is one line of /v1/sites.
type Site struct {
	Site   string `json:"site"`
	State  string `json:"state"`
	Trust  string `json:"trust,omitempty"` // full, vote, none; absent for this site
	Lives  int    `json:"lives"`           // of which something is held: a site begins another with a new state folder or federation key
	Cells  int64  `json:"cells"`           // bits and cells held
	Memory int64  `json:"memory_bytes"`

	// Fill is how much of its caps the site has used, 0 to 1, by kind of filter.
	Fill map[string]float64 `json:"fill,omitempty"`
	// Error is the chance that a signature nobody reported is found among those of the
	// site, ErrorShare its part in the sum of these chances.
	Error      float64 `json:"error"`
	ErrorShare float64 `json:"error_share"`

	*Link // nil: nothing is known of the way to it

	muted, dropped, capped bool
}

// SiteList is what /v1/sites says: this site first, the others by name.
type SiteList struct {
	Sites []Site `json:"sites"`

	// Refused is what was refused since the start of senders that did not prove to be
	// one of these sites, by cause.
	Refused map[string]int64 `json:"refused,omitempty"`
}

// SiteRequest asks to mute a site, to hear it again, or to drop it.
type SiteRequest struct {
	Site     string `json:"site"`
	Undo     bool   `json:"undo,omitempty"` // to mute: hear it again
	Reporter string `json:"reporter,omitempty"`
}

// SiteReceipt says how the site stood before and stands now.
type SiteReceipt struct {
	Before Site `json:"before"`
	Now    Site `json:"now"`
}

// Sites puts together what the database holds of each site and what the exchange
// knows of the way to it: this site first, the others by name.
func (d *Desk) Sites(links []Link) []Site {
	held := d.db.Status()
	sites := make(map[string]*Site)
	of := func(name string) *Site {
		if sites[name] == nil {
			sites[name] = &Site{Site: name}
		}
		return sites[name]
	}
	for _, s := range held.Sites {
		of(s.Site).add(s)
	}
	if held.Previous != nil { // held under the federation key of before
		for _, s := range held.Previous.Sites {
			of(s.Site).add(s)
		}
	}
	for _, link := range links {
		of(link.Site).Link = &link
	}
	var list []Site
	for _, s := range sites {
		if s.Site == held.Site {
			s.State = StateSelf
		} else {
			s.Trust = d.db.TrustOf(s.Site).String()
			s.State = s.state(time.Now())
		}
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Site) int {
		switch {
		case a.State == StateSelf:
			return -1
		case b.State == StateSelf:
			return 1
		}
		return cmp.Compare(a.Site, b.Site)
	})
	return list
}

// add takes what is held of the site in one of its lives, the latest first.
func (s *Site) add(held bloomdb.SiteStatus) {
	if held.Epoch != 0 {
		s.Lives++
	}
	s.Cells += held.Cells
	s.Memory += held.Memory
	s.muted, s.dropped = s.muted || held.Muted, s.dropped || held.Dropped
	s.capped = s.capped || held.Capped
	if s.Fill == nil {
		s.Fill = held.Fill
	}
	s.Error += held.Error
	s.ErrorShare += held.ErrorShare
}

func (s *Site) state(now time.Time) string {
	switch {
	case s.dropped:
		return StateDropped
	case s.muted:
		return StateMuted
	case s.Trust == bloomdb.TrustNone.String():
		return StateIgnored
	case s.Link != nil && s.Clock:
		return StateClock
	case s.Link != nil && s.Stale:
		return StateStale
	case s.capped:
		return StateCapped
	case s.Link != nil && s.ChunksOf > 0:
		return StateLoading
	case s.Link == nil || s.Heard == nil || now.Sub(*s.Heard) > silence:
		return StateSilent
	}
	return StateHeard
}

func (h *handler) siteList() []Site {
	if h.Links == nil {
		return h.desk.Sites(nil)
	}
	return h.desk.Sites(h.Links())
}

func (h *handler) sites(*http.Request) (any, error) {
	list := SiteList{Sites: h.siteList()}
	if h.Strangers != nil {
		list.Refused = h.Strangers()
	}
	return list, nil
}

// site is how one other site stands. Of one that nobody knows nothing can be taken
// away: its name is a slip of the pen more often than not.
func (h *handler) site(name string) (Site, error) {
	var names []string
	for _, s := range h.siteList() {
		switch {
		case s.Site == name && s.State == StateSelf:
			return s, newProblem(http.StatusUnprocessableEntity, "%s is this site itself", name)
		case s.Site == name:
			return s, nil
		}
		if s.State != StateSelf {
			names = append(names, s.Site)
		}
	}
	if len(names) == 0 {
		return Site{}, newProblem(http.StatusUnprocessableEntity, "there is no site %.64q: this one knows no others", name)
	}
	return Site{}, newProblem(http.StatusUnprocessableEntity, "there is no site %.64q", name)
}

func (h *handler) mute(r *http.Request) (any, error) {
	return h.silence(r, "mute", func(db *bloomdb.DB, q SiteRequest) error { return db.Mute(q.Site, !q.Undo) })
}

func (h *handler) drop(r *http.Request) (any, error) {
	return h.silence(r, "drop", func(db *bloomdb.DB, q SiteRequest) error {
		if q.Undo {
			return newProblem(http.StatusBadRequest, "what was dropped is gone; muting takes undo")
		}
		return db.Drop(q.Site)
	})
}

// silence changes whether a site is heard, under both federation keys where there
// are two. When the error is nil, that is on disk.
func (h *handler) silence(r *http.Request, action string, do func(*bloomdb.DB, SiteRequest) error) (any, error) {
	var q SiteRequest
	report, err := readAs(r, func(body io.Reader) (Report, error) {
		err := decodeObject(body, &q)
		return Report{Reporter: q.Reporter}, errors.Join(err, CheckReporter(q.Reporter))
	})
	if err != nil {
		return nil, err
	}
	before, err := h.site(q.Site)
	if err != nil {
		return nil, err
	}
	for db := h.desk.db; db != nil; db = db.Previous() {
		if err := do(db, q); err != nil {
			return nil, err
		}
	}
	h.desk.log.Info(action+" accepted", "site", q.Site, "undo", q.Undo, "reporter", report.Reporter, report.Origin.attr())
	now, err := h.site(q.Site)
	if err != nil { // nothing of it is left, not even its name
		now = Site{Site: q.Site, State: StateDropped}
	}
	return SiteReceipt{before, now}, nil
}
