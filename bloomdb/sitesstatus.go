package bloomdb

import (
	"cmp"
	"slices"
)

// SiteStatus describes what is held of one origin: a site in one of its lives.
type SiteStatus struct {
	Site   string `json:"site"`
	Epoch  uint64 `json:"epoch"` // 0: nothing is held of the site
	Seq    uint64 `json:"seq"`   // this site: last delta published; others: last delta applied
	Cells  int64  `json:"cells"` // bits and cells held
	Memory int64  `json:"memory_bytes"`
	Gaps   uint64 `json:"gaps"` // deltas that were lost on the way or refused

	Trust   string `json:"trust"`                 // full, vote or none; this site: full
	Muted   bool   `json:"muted"`                 // it has no say, see Mute
	Dropped bool   `json:"dropped"`               // and nothing of it is held, see Drop
	Since   int64  `json:"muted_since,omitempty"` // seconds since 1970

	// Of other sites, in their latest life: Fill is the share of its cap, 0 to 1,
	// that the site has used in the fullest generation, by kind of filter; Capped
	// says that it sent more in a generation that is still kept.
	Fill   map[string]float64 `json:"fill,omitempty"`
	Capped bool               `json:"capped"`

	// Error is the chance that a signature nobody reported is found among those the
	// site has reported, in any generation; ErrorShare is its part, 0 to 1, in the sum
	// of these chances over all sites. Both are 0 for a site that has no say.
	Error      float64 `json:"error"`
	ErrorShare float64 `json:"error_share"`
}

// siteStatus lists this site, of which self tells what is held, and then all others by
// name, the latest life first.
func (ps *peers) siteStatus(v *view, self SiteStatus) []SiteStatus {
	ps.sitesMu.Lock()
	byOrigin := make(map[origin]*SiteStatus, len(ps.sites))
	for o, s := range ps.sites {
		byOrigin[o] = &SiteStatus{Site: o.site, Epoch: o.epoch, Seq: s.seq, Gaps: s.gaps}
	}
	latest := make(map[string]*SiteStatus)
	for o, s := range byOrigin {
		if l := latest[o.site]; l == nil || l.Epoch < o.epoch {
			latest[o.site] = s
		}
	}
	ps.addFill(v, latest)
	ps.sitesMu.Unlock()
	for _, m := range v.trusted.muted {
		if latest[m.Site] == nil {
			byOrigin[origin{site: m.Site}] = &SiteStatus{Site: m.Site}
		}
	}
	for _, parts := range v.allParts() {
		for _, p := range parts {
			if s := byOrigin[p.origin]; s != nil {
				s.Cells += p.part.Cells()
				s.Memory += p.part.Bytes()
			}
		}
	}
	self.Trust = TrustFull.String()
	list := []SiteStatus{self}
	for _, s := range byOrigin {
		m, muted := v.trusted.find(s.Site)
		s.Trust, s.Muted, s.Dropped, s.Since = ps.sealer.TrustOf(s.Site).String(), muted, m.Dropped, m.Since
		list = append(list, *s)
	}
	slices.SortFunc(list[1:], func(a, b SiteStatus) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(b.Epoch, a.Epoch))
	})
	ps.addErrors(v, list)
	return list
}

// addFill says, for each site, how much of its caps it has used. sitesMu is held.
func (ps *peers) addFill(v *view, sites map[string]*SiteStatus) {
	done := make(map[siteTarget]bool)
	for t, parts := range v.allParts() {
		for _, p := range parts {
			name := siteTarget{p.origin.site, t}
			s := sites[p.origin.site]
			if s == nil || done[name] {
				continue
			}
			done[name] = true
			share, capped := ps.used(name, p.shape)
			if s.Fill == nil {
				s.Fill = make(map[string]float64)
			}
			s.Fill[t.kind.String()] = max(s.Fill[t.kind.String()], share)
			s.Capped = s.Capped || capped
		}
	}
}

// addErrors says how often each site's spam filters err; this one is the first.
func (ps *peers) addErrors(v *view, list []SiteStatus) {
	byOrigin := make(map[origin]*SiteStatus, len(list))
	for i := range list {
		byOrigin[origin{list[i].Site, list[i].Epoch}] = &list[i]
	}
	for _, g := range v.reports {
		t := target{spamFilter, g.num}
		if g.spam.own != nil {
			list[0].Error += ps.store.measured.filter(measuredFilter{t, true}, g.spam.own)
		}
		for _, p := range g.spam.trusted {
			if s := byOrigin[p.origin]; s != nil {
				s.Error += ps.store.measured.part(t, p)
			}
		}
	}
	sum := 0.0
	for _, s := range list {
		sum += s.Error
	}
	for i := range list {
		if sum > 0 {
			list[i].ErrorShare = list[i].Error / sum
		}
	}
}
