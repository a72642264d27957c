package store

import (
	"math"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
)

const (
	domainsPlanned = 400_000 // entries of a generation
	// ordinaryShare limits sightings: a domain that is only in spam has at most one
	// sighting beyond its campaigns for each ordinaryShare campaigns.
	ordinaryShare = 10
	// ordinaryRate bounds the share of innocent mail that has a domain which lists alone.
	ordinaryRate = 1.0 / 2000
)

// AnyDomain is counted once for each message with a link domain. It is the name of no domain.
const AnyDomain = ""

// DomainCounts are this site's counts of a domain, summed over all generations.
type DomainCounts struct {
	Campaigns, Sightings uint64
	Newest               int64  // newest generation with a campaign
	Unreported           uint64 // messages with any link domain that nobody reported
}

// IsSpamOnly reports whether a domain occurs almost only in spam: in enough campaigns, in little
// other mail, and the site has seen so much mail that the domain would be known if it were an
// ordinary one. Each campaign also counts as one sighting.
func (c DomainCounts) IsSpamOnly(campaigns int) bool {
	return campaigns > 0 && c.Campaigns >= uint64(campaigns) && c.IsRare() && c.OrdinaryRate() <= ordinaryRate
}

// IsRare reports whether the domain is in little mail that nobody reported, for its campaigns.
func (c DomainCounts) IsRare() bool { return c.others() <= c.Campaigns/ordinaryShare }

// others returns the sightings of the domain in mail that nobody reported.
func (c DomainCounts) others() uint64 { return c.Sightings - min(c.Sightings, c.Campaigns) }

// OrdinaryRate returns the upper limit, at 99 % confidence, of the share of innocent mail with
// links that has the domain; 1 if nothing is known. Not to have seen a domain is no evidence for a
// site that has seen little mail: of x messages with the domain among n unreported ones, the limit
// is that of a Poisson variable (Garwood 1936),
//
//	chi2(0.99, 2x+2) / 2n
//
// with the quantile by Wilson and Hilferty (1931), whose error is below 0.2 %. For x = 0 it is 4.6/n,
// so a domain lists alone from 9,222 messages on. n counts messages and x their copies, which
// errs on the safe side.
func (c DomainCounts) OrdinaryRate() float64 {
	if c.Unreported == 0 {
		return 1
	}
	const z = 2.3263 // of the normal distribution, at 99 %
	degrees := float64(2*c.others() + 2)
	cube := 1 - 2/(9*degrees) + z*math.Sqrt(2/(9*degrees))
	return min(1, degrees*cube*cube*cube/(2*float64(c.Unreported)))
}

// Unite returns the counts of both keyspaces. The previous keyspace has counted everything that
// the current one has, and more, so the larger numbers hold.
func (c DomainCounts) Unite(o DomainCounts) DomainCounts {
	return DomainCounts{max(c.Campaigns, o.Campaigns), max(c.Sightings, o.Sightings), max(c.Newest, o.Newest), max(c.Unreported, o.Unreported)}
}

// Domain sums a domain's counts over the generations. anyDomain are the keys of AnyDomain, reported
// returns the hash of the domain's signature, which few domains need. Campaigns count only in a
// generation where this site has reported the domain: in a full filter, sightings of others'
// domains look like campaigns.
func (v *View) Domain(k, anyDomain keyring.DomainKeys, reported func() filter.Hash) (c DomainCounts) {
	for _, g := range v.Reports {
		if g.Domains != nil {
			seen, campaigns := g.Domains.Count(anyDomain.Sightings), g.Domains.Count(anyDomain.Campaigns)
			c.Unreported += uint64(seen - min(seen, campaigns))
		}
	}
	for _, g := range v.Reports {
		if g.Domains == nil {
			continue
		}
		if n := g.Domains.Count(k.Campaigns); n > 0 && g.Spam.Own != nil && g.Spam.Own.Has(reported()) {
			if c.Campaigns == 0 {
				c.Newest = g.Num
			}
			c.Campaigns += uint64(n)
		}
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
