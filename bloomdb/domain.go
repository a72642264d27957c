package bloomdb

import (
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// How link domains are used. A domain never lists a message just because a reported message
// contains it: spam links to everyone's pages. It is used in two ways.
//
// Corroboration: the domains of a reported message are stored in the spam filter as
// signatures of signature.KindDomain, so that all sites have them. A message with a weak
// sketch match, of which too few keys were found, is listed if one of its domains is
// listed, too.
//
// Alone: for each domain this site counts the campaigns in which it was reported, and the
// sightings of mail with it that was not listed. A domain with Campaigns or more campaigns
// that hardly ever occurs in other mail is found in spam only, and lists the messages that
// link to it. The counts are of this site only and are not exchanged: no site has to
// believe another one's ratio.
//
// A campaign is a report of a message that nothing but its domain listed when the report
// came. So a message reported by many is one campaign, and so are its near-duplicates.
// Sightings keep reporters of a newsletter from having its domain listed: each copy that
// came here before it was reported is a sighting, of which only one a campaign is ignored.
// A newsletter that two people read and one reports each time has as many sightings as
// campaigns, and is never over the limit. The price is that the domain of a spammer who
// sends this site many copies before the first report is listed late, or never; text and
// sketches list those copies. If only one person at a site receives a newsletter, and
// reports every issue, it is listed at that site, and only there.
//
// Revoking a message revokes its domains, too: none of them lists anything alone in a
// generation in which some site revoked it, nor afterwards until it is reported again.
// So a wrong listing ends at once, on all sites and however many campaigns there were.
// A revocation also counts as revokedSightings sightings: the campaign is taken back, and
// some more. A message that was revoked is no campaign when it is reported again.
//
// Mail that was listed by its domain alone is not counted as seen. Nobody reports what is in
// the junk folder already, so that such sightings would end every listing after a few
// copies, right or wrong. A wrong one ends when a user takes a message out of the junk
// folder, which revokes it, or else when the generations of its campaigns expire.
//
// Domains of signature.WellKnown, and those an administrator names, are not used.
//
// Each generation of reports has one refined counting filter, made with the first count: 1.6
// MiB, for domainsPlanned entries, of which a domain has two, under keys of their own. A
// count is never too low. In a full filter 0.8 % of its entries are too high, and 3 % of
// absent ones, mostly by one; sightings that are too high only spare a domain. Counts are
// written to the journal without waiting for the disk: a crash loses up to a second.
const (
	domainsPlanned   = 400_000 // entries a generation
	reportedDomains  = 4       // of a message that a report lists
	revokedSightings = 10      // of each domain of a message that is revoked
	defaultCampaigns = 3
	// ordinaryShare is how many sightings beyond its campaigns a domain may have:
	// one in so many campaigns.
	ordinaryShare = 10
)

// DomainOptions set how link domains are used. Sites may differ.
type DomainOptions struct {
	// Campaigns is the least number of reported campaigns by which a domain that hardly
	// occurs in other mail lists messages; default 3. Below 0: none, and nothing is counted.
	Campaigns int
	// NeverAlone are registrable domains that are not used, beside those of
	// signature.WellKnown.
	NeverAlone []string
}

// domainCounts are this site's counts of a domain, over all generations.
type domainCounts struct {
	campaigns, sightings uint64
	newest               int64 // generation with a campaign
}

// isSpamOnly reports whether a domain is found in spam only, or nearly so. Each campaign
// has one sighting of its own.
func (c domainCounts) isSpamOnly(campaigns int) bool {
	others := c.sightings - min(c.sightings, c.campaigns)
	return campaigns > 0 && c.campaigns >= uint64(campaigns) && others <= c.campaigns/ordinaryShare
}

// domainKeys are the positions of a domain's two counts.
type domainKeys struct{ campaigns, sightings filter.Hash }

// domainKeys takes two lanes of one keyed digest for each.
func (st *store) domainKeys(domain string) domainKeys {
	h := filter.HashBytes(st.keyed.Sum(purposeDomain, []byte(domain)))
	return domainKeys{filter.Hash{h[0], h[1]}, filter.Hash{h[2], h[3]}}
}

// judgedDomains returns the domains of a message that can count against it.
func (o *Options) judgedDomains(domains []string) []string {
	var list []string
	for _, d := range domains[:min(len(domains), maxSetDomains)] {
		if !signature.WellKnown(d) && !slices.Contains(o.Domains.NeverAlone, d) {
			list = append(list, d)
		}
	}
	return list
}

// maxSetDomains is how many domains of a set count: what signature.Set has at most.
const maxSetDomains = 16

// domainSignatures returns the signatures of domains, which are listed and revoked with those
// of the message.
func (st *store) domainSignatures(kind filterKind, set signature.Set) []signature.Signature {
	domains := st.opt.judgedDomains(set.Domains)
	if kind == spamFilter {
		domains = domains[:min(len(domains), reportedDomains)]
	}
	domains = domains[:min(len(domains), maxKeys-len(set.Signatures))]
	signatures := make([]signature.Signature, len(domains))
	for i, d := range domains {
		signatures[i] = signature.DomainSignature(d)
	}
	return signatures
}

// corroborates reports whether a reported domain makes a weak match a listing: both must
// stand.
func corroborates(domain Match, weak []Match) bool {
	return !domain.Revoked && len(weak) > 0 && !weak[0].Revoked
}

// countsDomains reports whether any link domain was counted.
func (q *question) countsDomains() bool {
	return slices.ContainsFunc(q.view.reports, func(g *reportGeneration) bool { return g.domains != nil })
}

// unite returns the counts of both keyspaces. The previous one has counted all that the
// current one has, and more: the larger numbers hold.
func (c domainCounts) unite(o domainCounts) domainCounts {
	return domainCounts{max(c.campaigns, o.campaigns), max(c.sightings, o.sightings), max(c.newest, o.newest)}
}

// domain sums a domain's counts over the generations.
func (v *view) domain(k domainKeys) (c domainCounts) {
	for _, g := range v.reports {
		if g.domains == nil {
			continue
		}
		n := g.domains.Count(k.campaigns)
		if n > 0 && c.campaigns == 0 {
			c.newest = g.num
		}
		c.campaigns += uint64(n)
		c.sightings += uint64(g.domains.Count(k.sightings))
	}
	return c
}

// isCampaign reports whether a report of a message is a campaign of its own: neither it
// nor a near-duplicate was reported yet, revoked or not. Else each report of a revoked
// message would be one more, since it is not listed by the one before. Of a message without
// domains to count it is false.
func (db *DB) isCampaign(set signature.Set) bool {
	if db.unwanted(domainFilter) || len(db.opt.judgedDomains(set.Domains)) == 0 {
		return false
	}
	return !slices.ContainsFunc(db.Judge(set).Matches, func(m Match) bool { return m.Signature.Kind != signature.KindDomain })
}

// CountDomains counts the link domains of a message that arrived n times, unless e, its
// verdict, lists it. Call it after Judge: else the message would count in its own favour.
// It does not wait for the disk. After an error the counts are in memory only.
func (db *DB) CountDomains(set signature.Set, e Evidence, n uint32) error {
	if e.Listed || n == 0 {
		return nil
	}
	return db.all(func(ks *keyspace) error {
		return ks.addDomainCounts(set, n, func(k domainKeys) filter.Hash { return k.sightings })
	})
}

// countListed counts the domains of a report that is a campaign, or of a revocation.
// Either is on disk by now, so that a fault here is only logged.
func (ks *keyspace) countListed(kind filterKind, set signature.Set, campaign bool) {
	var err error
	switch {
	case kind == revokedFilter:
		err = ks.addDomainCounts(set, revokedSightings, func(k domainKeys) filter.Hash { return k.sightings })
	case campaign:
		err = ks.addDomainCounts(set, 1, func(k domainKeys) filter.Hash { return k.campaigns })
	}
	if err != nil {
		ks.opt.Log.Warn("a report's link domains are not counted", "error", err)
	}
}

func (ks *keyspace) addDomainCounts(set signature.Set, n uint32, key func(domainKeys) filter.Hash) error {
	domains := ks.opt.judgedDomains(set.Domains)
	if len(domains) == 0 || ks.unwanted(domainFilter) {
		return nil
	}
	if ks.closed.Load() {
		return ErrClosed
	}
	t := target{domainFilter, ks.opt.generation(domainFilter, ks.opt.Now())}
	own, err := ks.ownDomains(t.gen, domainsShape())
	if err != nil {
		return err
	}
	for _, d := range domains {
		h := key(ks.domainKeys(d))
		at, e := ks.journal.append(record{target: t, hashes: []filter.Hash{h}, count: own.Add(h, min(n, filter.MaxValue))})
		if e != nil {
			err = e
			continue
		}
		ks.journal.done(at)
	}
	return err
}

func domainsShape() filter.CountsShape { return filter.SizeCounts(domainsPlanned) }

// ownDomains returns the counts of domains of a generation, made where missing.
func (st *store) ownDomains(gen int64, s filter.CountsShape) (*filter.Counts, error) {
	in := func(g *reportGeneration) **filter.Counts { return &g.domains }
	return findOrMake(st, gen, inReports(in), func() (*filter.Counts, error) { return filter.NewCounts(s) })
}

// DomainTrace is what this site and others have of one link domain of a message.
type DomainTrace struct {
	Domain    string
	Ignored   bool   // it is on a list of domains that are not used
	Campaigns uint64 // reported here
	Sightings uint64 // here, in mail that was not listed
	Alone     bool   // it is found in spam only
	Reported  *Match // some site reported a message with it; nil: none
}

// ExplainDomains traces the link domains of a message.
func (db *DB) ExplainDomains(set signature.Set) []DomainTrace {
	var buf [1]question
	asked, p := db.ask(buf[:], signature.Set{}), db.opt.policy()
	var traces []DomainTrace
	for _, d := range set.Domains[:min(len(set.Domains), maxSetDomains)] {
		l := gatherLink(asked, d, true, p)
		t := DomainTrace{Domain: d, Ignored: len(db.opt.judgedDomains([]string{d})) == 0, Campaigns: l.counts.campaigns, Sightings: l.counts.sightings}
		t.Alone = !t.Ignored && l.isSpamOnly(p)
		if m, ok := l.reports.match(); ok {
			m.Domain = d
			t.Reported = &m
		}
		traces = append(traces, t)
	}
	return traces
}

// validDomains returns what is wrong with the options of domains.
func (o *Options) validDomains() error {
	if o.Domains.Campaigns > 1_000_000 {
		return fmt.Errorf("domain campaigns %d: must be at most 1,000,000", o.Domains.Campaigns)
	}
	for _, d := range o.Domains.NeverAlone {
		if !signature.IsDomain(d) {
			return fmt.Errorf("domain %q that says nothing: must be a registrable domain in lower case ASCII, as example.com", d)
		}
	}
	return nil
}
