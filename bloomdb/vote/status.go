package vote

import (
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Status describes this site's votes, and those of other sites.
type Status struct {
	Needed int          `json:"needed"` // votes that list a message
	Error  float64      `json:"error"`  // VotesError for the sites whose votes count
	Own    SiteStatus   `json:"own"`
	Sites  []SiteStatus `json:"sites,omitempty"` // by name
	Memory int64        `json:"memory_bytes"`
}

// SiteStatus describes one site's votes.
type SiteStatus struct {
	Site  string    `json:"site"`
	Since time.Time `json:"since"`           // the filter contains reports since then
	Made  time.Time `json:"made,omitzero"`   // when the site published it; absent for this site
	Stale bool      `json:"stale,omitempty"` // expired: it does not count
	Muted bool      `json:"muted,omitempty"`
	Keys  uint64    `json:"keys"`  // inserted keys, as claimed by the site
	Fill  float64   `json:"fill"`  // share of ones; it approaches 0.5
	Error float64   `json:"error"` // chance that one absent key is found; at most 2^-16
}

func (vs *Register) Status() Status {
	s := Status{Needed: vs.opt.Votes, Own: vs.ownStatus()}
	now := vs.opt.Generation(layout.SpamFilter, vs.opt.Now())
	counting := 0
	for _, v := range vs.Received.All() {
		site := vs.siteStatus(v.Head.Site, v.gen, v.filter)
		site.Made, site.Stale, site.Muted = v.Head.Made, v.Stale(now), vs.store.Muted(v.Head.Site)
		if !site.Stale && !site.Muted {
			counting++
		}
		s.Sites = append(s.Sites, site)
	}
	s.Error = Error(counting, s.Needed)
	vs.Own.mu.Lock()
	filters := len(vs.Own.filters) + len(s.Sites)
	vs.Own.mu.Unlock()
	s.Memory = int64(filters) * int64(wire.VotesShape.M/8)
	return s
}

func (vs *Register) ownStatus() SiteStatus {
	vs.Own.mu.Lock()
	defer vs.Own.mu.Unlock()
	gen := vs.opt.VotesGeneration()
	return vs.siteStatus(vs.opt.Site, gen, vs.Own.filters[gen])
}

// siteStatus describes a filter. A nil filter is empty.
func (vs *Register) siteStatus(site string, gen int64, f *generalized.Filter) SiteStatus {
	s := SiteStatus{Site: site, Since: vs.opt.Start(layout.Target{Kind: layout.SpamFilter, Gen: gen})}
	if f != nil {
		s.Keys, s.Fill, s.Error = f.Inserted(), float64(f.Ones())/float64(wire.VotesShape.M), f.Error()
	}
	return s
}
