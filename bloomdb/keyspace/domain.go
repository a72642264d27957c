package keyspace

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

const (
	reportedDomains  = 4  // domains of a message that a report lists
	revokedSightings = 10 // sightings that a revocation adds for each domain
)

// domainSignatures returns the signatures of a message's domains, which are reported and revoked
// with those of the message.
func (ks *Keyspace) domainSignatures(kind layout.Kind, set signature.Set) []signature.Signature {
	domains := ks.Settings.JudgedDomains(set.Domains)
	if kind == layout.SpamFilter {
		domains = slices.DeleteFunc(domains, ks.isCommonDomain)
		domains = domains[:min(len(domains), reportedDomains)]
	}
	domains = domains[:min(len(domains), journal.MaxKeys-len(set.Signatures))]
	signatures := make([]signature.Signature, len(domains))
	for i, d := range domains {
		signatures[i] = signature.DomainSignature(d)
	}
	return signatures
}

// isCommonDomain reports whether a link domain is common at this site: that of a mailing service,
// for example, on which many senders' links go through.
func (ks *Keyspace) isCommonDomain(d string) bool { return ks.Common.IsCommon(ks.Common.Domain(d)) }

// countListed counts the domains of a report that is a campaign, or of a revocation. The report
// or revocation is on disk by now, so a fault is only logged.
func (ks *Keyspace) countListed(kind layout.Kind, set signature.Set, campaign bool) {
	var err error
	switch {
	case kind == layout.RevokedFilter:
		err = ks.AddDomainCounts(set, revokedSightings, func(k keyring.DomainKeys) filter.Hash { return k.Sightings })
	case campaign:
		err = ks.AddDomainCounts(set, 1, func(k keyring.DomainKeys) filter.Hash { return k.Campaigns })
	}
	if err != nil {
		ks.Settings.Log.Warn("a report's link domains are not counted", "error", err)
	}
}

// AddDomainCounts adds n to a count of each of a message's domains, and 1 to that of AnyDomain.
func (ks *Keyspace) AddDomainCounts(set signature.Set, n uint32, key func(keyring.DomainKeys) filter.Hash) error {
	domains := ks.Settings.JudgedDomains(set.Domains)
	if len(domains) == 0 || ks.Settings.Unwanted(layout.DomainFilter) {
		return nil
	}
	if ks.Closed.Load() {
		return layout.ErrClosed
	}
	t := layout.Target{Kind: layout.DomainFilter, Gen: ks.Settings.Generation(layout.DomainFilter, ks.Settings.Now())}
	own, err := ks.Store.OwnDomains(t.Gen, store.DomainsShape())
	if err != nil {
		return err
	}
	add := func(domain string, n uint32) {
		h := key(ks.Ring.DomainKeys(domain))
		at, e := ks.Journal.Append(journal.Record{Target: t, Hashes: []filter.Hash{h}, Count: own.Add(h, min(n, filter.MaxValue))})
		if e != nil {
			err = e
			return
		}
		ks.Journal.Done(at)
	}
	for _, d := range domains {
		add(d, n)
	}
	add(store.AnyDomain, 1)
	return err
}
