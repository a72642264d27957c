package bloomdb

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/judging"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// isCampaign reports whether a report of a message is the first one of its campaign: neither
// the message nor a near-duplicate was reported yet, revoked or not. Otherwise each report of
// a revoked message would count as another campaign, because the earlier one no longer lists
// it. isCampaign is false for a message without domains to count.
func (db *DB) isCampaign(set signature.Set) bool {
	if db.ks.Settings.Unwanted(layout.DomainFilter) || len(db.ks.Settings.JudgedDomains(set.Domains)) == 0 {
		return false
	}
	e := db.Judge(set)
	return !slices.ContainsFunc(slices.Concat(e.Matches, e.Spared), func(m judging.Match) bool { return m.Signature.Kind != signature.KindDomain })
}

// CountDomains counts the link domains of a message that arrived n times, unless its evidence
// e lists it. Call it after Judge: otherwise the message would count in its own favour. It does
// not wait for the disk. After an error the counts are in memory only.
func (db *DB) CountDomains(set signature.Set, e judging.Evidence, n uint32) error {
	if e.Listed || n == 0 {
		return nil
	}
	return db.all(func(ks *keyspace.Keyspace) error {
		return ks.AddDomainCounts(set, n, func(k keyring.DomainKeys) filter.Hash { return k.Sightings })
	})
}
