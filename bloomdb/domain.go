package bloomdb

import (
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

const (
	defaultCampaigns = 3
)

// corroborates reports whether a reported domain makes a weak match a listing: both must
// stand.
func corroborates(domain Match, weak []Match) bool {
	return !domain.Revoked && len(weak) > 0 && !weak[0].Revoked
}

// countsDomains reports whether any link domain was counted.
func (q *question) countsDomains() bool {
	return slices.ContainsFunc(q.view.Reports, func(g *store.ReportGeneration) bool { return g.Domains != nil })
}

// isCampaign reports whether a report of a message is a campaign of its own: neither it
// nor a near-duplicate was reported yet, revoked or not. Else each report of a revoked
// message would be one more, since it is not listed by the one before. Of a message without
// domains to count it is false.
func (db *DB) isCampaign(set signature.Set) bool {
	if db.ks.Settings.Unwanted(layout.DomainFilter) || len(db.ks.Settings.JudgedDomains(set.Domains)) == 0 {
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
	return db.all(func(ks *keyspace.Keyspace) error {
		return ks.AddDomainCounts(set, n, func(k keyring.DomainKeys) filter.Hash { return k.Sightings })
	})
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
	asked, p := db.ask(buf[:], signature.Set{}), db.policy()
	var traces []DomainTrace
	for _, d := range set.Domains[:min(len(set.Domains), layout.MaxSetDomains)] {
		l := gatherLink(asked, d, true, p)
		t := DomainTrace{Domain: d, Ignored: len(db.ks.Settings.JudgedDomains([]string{d})) == 0, Campaigns: l.counts.Campaigns, Sightings: l.counts.Sightings}
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
