package judging

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

// corroborates reports whether a reported domain turns a weak match into a listing: neither may
// be revoked.
func corroborates(domain Match, weak []Match) bool {
	return !domain.Revoked && len(weak) > 0 && !weak[0].Revoked
}

// countsDomains reports whether any link domain was counted.
func (q *question) countsDomains() bool {
	return slices.ContainsFunc(q.view.Reports, func(g *store.ReportGeneration) bool { return g.Domains != nil })
}

// DomainTrace contains the counts and reports of one link domain of a message.
type DomainTrace struct {
	Domain    string
	Campaigns uint64 // campaigns reported here
	Sightings uint64 // sightings here in mail that was not listed
	// OrdinaryRate is the upper limit of the share of innocent mail that has it, see
	// store.DomainCounts.OrdinaryRate.
	OrdinaryRate float64
	Doubt        Doubt  // why it does not list messages alone
	Reported     *Match // reports of messages with it, by any site; nil: none
}

// Doubt is why a link domain does not list messages alone. The values are also those of the control
// API.
type Doubt string

const (
	NoDoubt        Doubt = ""          // it lists messages alone
	DoubtIgnored   Doubt = "ignored"   // it is well known, or in layout.DomainOptions.NeverAlone
	DoubtOff       Doubt = "off"       // no domain lists messages alone at this site
	DoubtCampaigns Doubt = "campaigns" // too few campaigns were reported with it
	DoubtSightings Doubt = "sightings" // it is in too much mail that nobody reported
	DoubtMail      Doubt = "mail"      // the site has seen too little mail to know that it is in spam only
	DoubtRevoked   Doubt = "revoked"   // a message with it was revoked since its newest campaign
	DoubtCommon    Doubt = "common"    // mail of many senders has it (package commonness)
)

// doubt returns why a domain that is not ignored does not list messages alone. The rules are those of
// DomainCounts.IsSpamOnly and isSpamOnly, one by one.
func (l *linkFacts) doubt(p Policy, isCommon bool) Doubt {
	switch c := l.counts; {
	case p.Campaigns <= 0:
		return DoubtOff
	case isCommon:
		return DoubtCommon
	case c.Campaigns < uint64(p.Campaigns):
		return DoubtCampaigns
	case !c.IsRare():
		return DoubtSightings
	case !c.IsSpamOnly(p.Campaigns):
		return DoubtMail
	case !l.isSpamOnly(p):
		return DoubtRevoked
	}
	return NoDoubt
}

// Alone reports whether the domain lists messages alone.
func (t *DomainTrace) Alone() bool { return t.Doubt == NoDoubt }

// Ignored reports whether the domain is on a list of domains that are not used.
func (t *DomainTrace) Ignored() bool { return t.Doubt == DoubtIgnored }

// ExplainDomains returns the traces of a message's link domains.
func ExplainDomains(keys []*keyspace.Keyspace, set signature.Set, p Policy) []DomainTrace {
	var buf [1]question
	asked, settings, common := ask(buf[:], keys, &signature.Set{}), keys[0].Settings, keys[0].Common
	var traces []DomainTrace
	for _, d := range set.Domains[:min(len(set.Domains), layout.MaxSetDomains)] {
		l := gatherLink(asked, d, true, p)
		t := DomainTrace{Domain: d, Campaigns: l.counts.Campaigns, Sightings: l.counts.Sightings, OrdinaryRate: l.counts.OrdinaryRate()}
		if t.Doubt = l.doubt(p, common.IsCommon(common.Domain(d))); len(settings.JudgedDomains([]string{d})) == 0 {
			t.Doubt = DoubtIgnored
		}
		if m, ok := l.reports.match(); ok {
			m.Domain = d
			t.Reported = &m
		}
		traces = append(traces, t)
	}
	return traces
}

// gatherLinks returns the facts about link domains that can list the message: domains that occur
// almost only in spam, and beside a weak match all reported ones.
func gatherLinks(asked []question, domains []string, isWeak bool, p Policy) (links []linkFacts) {
	isCounted := false
	for i := range asked {
		isCounted = isCounted || p.Campaigns > 0 && asked[i].countsDomains()
	}
	if !isWeak && !isCounted {
		return nil
	}
	common := asked[0].ks.Common
	for _, d := range asked[0].ks.Settings.JudgedDomains(domains) {
		l := gatherLink(asked, d, isWeak, p)
		if (isWeak || l.counts.IsSpamOnly(p.Campaigns)) && !common.IsCommon(common.Domain(d)) {
			links = append(links, l)
		}
	}
	return links
}

// gatherLink returns the facts about one domain. Reports are looked up if wantsReports is true,
// or if this site has seen the domain almost only in spam.
func gatherLink(asked []question, domain string, wantsReports bool, p Policy) linkFacts {
	l := linkFacts{domain: domain}
	for i := range asked {
		ring := asked[i].ks.Ring
		reported := func() filter.Hash { return ring.ReportHash(signature.DomainSignature(domain)) }
		l.counts = l.counts.Unite(asked[i].view.Domain(ring.DomainKeys(domain), ring.DomainKeys(store.AnyDomain), reported))
	}
	isSpamOnly := l.counts.IsSpamOnly(p.Campaigns)
	if !wantsReports && !isSpamOnly {
		return l
	}
	s := signature.DomainSignature(domain)
	l.reports = signatureFacts{signature: s, revoked: neverRevoked}
	for i := range asked {
		q, h := &asked[i], asked[i].ks.Ring.ReportHash(s)
		if wantsReports {
			l.reports = l.reports.unite(q.signature(s, h, store.Everywhere, false))
		}
		if isSpamOnly { // only revocations since the newest campaign matter
			l.reports = l.reports.unite(q.signature(s, h, store.Span{Newest: neverRevoked, Oldest: l.counts.Newest}, false))
		}
	}
	return l
}

// matchesOfLinks returns the match by a link domain that occurs almost only in spam, unless the
// message itself was revoked since; if there is none, a weak match and a reported domain beside it.
func (f *facts) matchesOfLinks(weak []Match, p Policy) []Match {
	for _, l := range f.links {
		if l.isSpamOnly(p) && f.message.words.revoked() < l.counts.Newest {
			return []Match{{Signature: l.reports.signature, Domain: l.domain, Generation: l.counts.Newest, Sites: []string{p.Site}}}
		}
	}
	for i := range f.links {
		m, ok := f.links[i].reports.match()
		m.Domain = f.links[i].domain
		if ok && corroborates(m, weak) {
			return []Match{weak[0], m}
		}
	}
	return nil
}

// isSpamOnly reports whether a domain lists messages alone: it occurs almost only in spam, and
// was not revoked since its newest campaign.
func (l *linkFacts) isSpamOnly(p Policy) bool {
	return l.counts.IsSpamOnly(p.Campaigns) && l.reports.revoked.Gen() < l.counts.Newest
}
