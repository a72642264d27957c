package peers

import (
	"cmp"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Status describes the data of one origin: a site in one of its epochs.
type Status struct {
	Site   string `json:"site"`
	Epoch  uint64 `json:"epoch"` // 0: there is no data of the site
	Seq    uint64 `json:"seq"`   // this site: last delta published; others: last delta applied
	Cells  int64  `json:"cells"` // number of bits and cells
	Memory int64  `json:"memory_bytes"`
	Gaps   uint64 `json:"gaps"` // deltas that were lost or rejected

	Trust   string `json:"trust"`                 // full, vote or none; this site: full
	Muted   bool   `json:"muted"`                 // it is ignored, see Mute
	Dropped bool   `json:"dropped"`               // and its data is deleted, see Drop
	Since   int64  `json:"muted_since,omitempty"` // seconds since 1970

	// Fill is the share of its cap, 0 to 1, that another site has used in the fullest generation,
	// by kind of filter. Capped reports whether it sent more in a generation that is still kept.
	// Both are set for the latest epoch of a site only.
	Fill   map[string]float64 `json:"fill,omitempty"`
	Capped bool               `json:"capped"`

	// Error is the chance that a signature nobody reported is found in the site's reports, in any
	// generation. ErrorShare is its share, 0 to 1, of the sum over all sites. Both are 0 for a
	// site that is not trusted.
	Error      float64 `json:"error"`
	ErrorShare float64 `json:"error_share"`
}

// Status returns this site, whose data self describes, and then all others by name, latest epoch
// first.
func (ps *Peers) Status(v *store.View, self Status) []Status {
	ps.sitesMu.Lock()
	byOrigin := make(map[layout.Origin]*Status, len(ps.sites))
	for o, s := range ps.sites {
		byOrigin[o] = &Status{Site: o.Site, Epoch: o.Epoch, Seq: s.seq, Gaps: s.gaps}
	}
	latest := make(map[string]*Status)
	for o, s := range byOrigin {
		if l := latest[o.Site]; l == nil || l.Epoch < o.Epoch {
			latest[o.Site] = s
		}
	}
	ps.addFill(v, latest)
	ps.sitesMu.Unlock()
	for _, m := range v.Trusted.Muted {
		if latest[m.Site] == nil {
			byOrigin[layout.Origin{Site: m.Site}] = &Status{Site: m.Site}
		}
	}
	for _, parts := range v.AllParts() {
		for _, p := range parts {
			if s := byOrigin[p.Origin]; s != nil {
				s.Cells += p.Cells()
				s.Memory += p.Bytes()
			}
		}
	}
	self.Trust = wire.TrustFull.String()
	list := []Status{self}
	for _, s := range byOrigin {
		m, muted := v.Trusted.Find(s.Site)
		s.Trust, s.Muted, s.Dropped, s.Since = ps.sealer.TrustOf(s.Site).String(), muted, m.Dropped, m.Since
		list = append(list, *s)
	}
	slices.SortFunc(list[1:], func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(b.Epoch, a.Epoch))
	})
	ps.addErrors(v, list)
	return list
}

// addFill sets how much of its caps each site has used. The caller holds sitesMu.
func (ps *Peers) addFill(v *store.View, sites map[string]*Status) {
	done := make(map[siteTarget]bool)
	for t, parts := range v.AllParts() {
		for _, p := range parts {
			name := siteTarget{p.Origin.Site, t}
			s := sites[p.Origin.Site]
			if s == nil || done[name] {
				continue
			}
			done[name] = true
			share, capped := ps.used(name, p.Shape)
			if s.Fill == nil {
				s.Fill = make(map[string]float64)
			}
			s.Fill[t.Kind.String()] = max(s.Fill[t.Kind.String()], share)
			s.Capped = s.Capped || capped
		}
	}
}

// addErrors sets the error of each site's spam filters. This site is the first of list.
func (ps *Peers) addErrors(v *store.View, list []Status) {
	byOrigin := make(map[layout.Origin]*Status, len(list))
	for i := range list {
		byOrigin[layout.Origin{Site: list[i].Site, Epoch: list[i].Epoch}] = &list[i]
	}
	for _, g := range v.Reports {
		t := layout.Target{Kind: layout.SpamFilter, Gen: g.Num}
		if g.Spam.Own != nil {
			list[0].Error += ps.store.Measured.Filter(store.MeasuredFilter{Target: t, Own: true}, g.Spam.Own)
		}
		for _, p := range g.Spam.Trusted {
			if s := byOrigin[p.Origin]; s != nil {
				s.Error += ps.store.Measured.Part(t, p)
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
