package store

import (
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
)

const (
	domainsPlanned = 400_000 // entries a generation
	// ordinaryShare is how many sightings beyond its campaigns a domain may have:
	// one in so many campaigns.
	ordinaryShare = 10
)

// DomainCounts are this site's counts of a domain, over all generations.
type DomainCounts struct {
	Campaigns, Sightings uint64
	Newest               int64 // generation with a campaign
}

// IsSpamOnly reports whether a domain is found in spam only, or nearly so. Each campaign
// has one sighting of its own.
func (c DomainCounts) IsSpamOnly(campaigns int) bool {
	others := c.Sightings - min(c.Sightings, c.Campaigns)
	return campaigns > 0 && c.Campaigns >= uint64(campaigns) && others <= c.Campaigns/ordinaryShare
}

// Unite returns the counts of both keyspaces. The previous one has counted all that the
// current one has, and more: the larger numbers hold.
func (c DomainCounts) Unite(o DomainCounts) DomainCounts {
	return DomainCounts{max(c.Campaigns, o.Campaigns), max(c.Sightings, o.Sightings), max(c.Newest, o.Newest)}
}

// Domain sums a domain's counts over the generations.
func (v *View) Domain(k keyring.DomainKeys) (c DomainCounts) {
	for _, g := range v.Reports {
		if g.Domains == nil {
			continue
		}
		n := g.Domains.Count(k.Campaigns)
		if n > 0 && c.Campaigns == 0 {
			c.Newest = g.Num
		}
		c.Campaigns += uint64(n)
		c.Sightings += uint64(g.Domains.Count(k.Sightings))
	}
	return c
}

func DomainsShape() filter.CountsShape { return filter.SizeCounts(domainsPlanned) }

// OwnDomains returns the counts of domains of a generation, made where missing.
func (st *Store) OwnDomains(gen int64, s filter.CountsShape) (*filter.Counts, error) {
	in := func(g *ReportGeneration) **filter.Counts { return &g.Domains }
	return findOrMake(st, gen, inReports(in), func() (*filter.Counts, error) { return filter.NewCounts(s) })
}
