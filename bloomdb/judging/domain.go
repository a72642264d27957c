package judging

import (
	"slices"

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
	Ignored   bool   // it is on a list of domains that are not used
	Campaigns uint64 // campaigns reported here
	Sightings uint64 // sightings here in mail that was not listed
	Alone     bool   // it lists messages alone, because it occurs almost only in spam
	Reported  *Match // reports of messages with it, by any site; nil: none
}

// ExplainDomains returns the traces of a message's link domains.
func ExplainDomains(keys []*keyspace.Keyspace, set signature.Set, p Policy) []DomainTrace {
	var buf [1]question
	asked, settings := ask(buf[:], keys, &signature.Set{}), keys[0].Settings
	var traces []DomainTrace
	for _, d := range set.Domains[:min(len(set.Domains), layout.MaxSetDomains)] {
		l := gatherLink(asked, d, true, p)
		t := DomainTrace{Domain: d, Ignored: len(settings.JudgedDomains([]string{d})) == 0, Campaigns: l.counts.Campaigns, Sightings: l.counts.Sightings}
		t.Alone = !t.Ignored && l.isSpamOnly(p)
		if m, ok := l.reports.match(); ok {
			m.Domain = d
			t.Reported = &m
		}
		traces = append(traces, t)
	}
	return traces
}
