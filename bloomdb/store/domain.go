package store

import (
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
)

const (
	domainsPlanned = 400_000 // entries of a generation
	// ordinaryShare limits sightings: a domain that is only in spam has at most one
	// sighting beyond its campaigns for each ordinaryShare campaigns.
	ordinaryShare = 10
)

// DomainCounts are this site's counts of a domain, summed over all generations.
type DomainCounts struct {
	Campaigns, Sightings uint64
	Newest               int64 // newest generation with a campaign
}

// IsSpamOnly reports whether a domain occurs almost only in spam. Each campaign also counts
// as one sighting.
func (c DomainCounts) IsSpamOnly(campaigns int) bool {
	others := c.Sightings - min(c.Sightings, c.Campaigns)
	return campaigns > 0 && c.Campaigns >= uint64(campaigns) && others <= c.Campaigns/ordinaryShare
}

// Unite returns the counts of both keyspaces. The previous keyspace has counted everything that
// the current one has, and more, so the larger numbers hold.
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

// OwnDomains returns the counts of domains of a generation, and creates them if necessary.
func (st *Store) OwnDomains(gen int64, s filter.CountsShape) (*filter.Counts, error) {
	in := func(g *ReportGeneration) **filter.Counts { return &g.Domains }
	return findOrMake(st, gen, inReports(in), func() (*filter.Counts, error) { return filter.NewCounts(s) })
}
