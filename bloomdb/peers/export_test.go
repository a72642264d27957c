package peers

// SetLeastParts sets the lower bound of PartsLimit, in bytes.
func (ps *Peers) SetLeastParts(n int64) { ps.leastParts = n }

// Uses returns the number of filters for which the use of a site's cap is stored.
func (ps *Peers) Uses() int {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	return len(ps.uses)
}
