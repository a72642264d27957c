package peers

import "github.com/spambloom/spambloom/bloomdb/layout"

const MaxEpochs = maxEpochs

// SetLeastParts sets the lower bound of PartsLimit, in bytes.
func (ps *Peers) SetLeastParts(n int64) { ps.leastParts = n }

func (ps *Peers) PartsLimit() int64 { return ps.partsLimit() }

func (ps *Peers) SiteCap(site string, t layout.Target, s layout.Shape) int64 {
	return ps.siteCap(site, t, s)
}

// Uses returns the number of filters for which the use of a site's cap is stored.
func (ps *Peers) Uses() int {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	return len(ps.uses)
}

// Incomplete returns the number of generations that are recorded as incomplete of a snapshot that
// is being read.
func (ps *Peers) Incomplete(o layout.Origin) int {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	return len(ps.sites[o].incomplete)
}
