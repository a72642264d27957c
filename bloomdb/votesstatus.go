package bloomdb

import (
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// VotesStatus describes this site's votes and those it hears.
type VotesStatus struct {
	Needed int           `json:"needed"` // votes that list a message
	Error  float64       `json:"error"`  // what VotesError says of the sites whose votes count
	Own    VoterStatus   `json:"own"`
	Sites  []VoterStatus `json:"sites,omitempty"` // by name
	Memory int64         `json:"memory_bytes"`
}

// VoterStatus describes one site's votes.
type VoterStatus struct {
	Site  string    `json:"site"`
	Since time.Time `json:"since"`           // reports from then on are in the filter
	Made  time.Time `json:"made,omitzero"`   // when the site published it; absent for this site
	Stale bool      `json:"stale,omitempty"` // too long ago to count
	Muted bool      `json:"muted,omitempty"`
	Keys  uint64    `json:"keys"`  // inserted, as the site says
	Fill  float64   `json:"fill"`  // share of ones; it grows towards 0.5
	Error float64   `json:"error"` // chance that one absent key is found; at most 2^-16
}

func (vs *votes) votesStatus() VotesStatus {
	s := VotesStatus{Needed: vs.opt.Votes, Own: vs.ownVoterStatus()}
	now := vs.opt.generation(spamFilter, vs.opt.Now())
	counting := 0
	for _, v := range vs.voters.all() {
		site := vs.voterStatus(v.head.Site, v.gen, v.filter)
		site.Made, site.Stale, site.Muted = v.head.Made, v.stale(now), vs.store.Muted(v.head.Site)
		if !site.Stale && !site.Muted {
			counting++
		}
		s.Sites = append(s.Sites, site)
	}
	s.Error = VotesError(counting, s.Needed)
	vs.own.mu.Lock()
	filters := len(vs.own.filters) + len(s.Sites)
	vs.own.mu.Unlock()
	s.Memory = int64(filters) * int64(votesShape.M/8)
	return s
}

func (vs *votes) ownVoterStatus() VoterStatus {
	vs.own.mu.Lock()
	defer vs.own.mu.Unlock()
	gen := vs.opt.votesGeneration()
	return vs.voterStatus(vs.opt.Site, gen, vs.own.filters[gen])
}

// voterStatus describes a filter; nil is an empty one.
func (vs *votes) voterStatus(site string, gen int64, f *filter.Generalized) VoterStatus {
	s := VoterStatus{Site: site, Since: vs.opt.start(target{spamFilter, gen})}
	if f != nil {
		s.Keys, s.Fill, s.Error = f.Inserted(), float64(f.Ones())/float64(votesShape.M), f.Error()
	}
	return s
}
