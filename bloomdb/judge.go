package bloomdb

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/explain"
	"github.com/spambloom/spambloom/bloomdb/judging"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// policy returns the options that affect verdicts.
func (db *DB) policy() judging.Policy {
	s := db.ks.Settings
	p := judging.Policy{Site: s.Site, Votes: s.Votes, Campaigns: s.Domains.Campaigns}
	if settled := db.settled.Load(); settled != nil {
		p.Settled = *settled
	}
	return p
}

// Settle sets what messages are at this site, by the signatures of their texts and bodies,
// whatever the filters have: true is spam. It replaces what was set before, and is not stored.
// Caller: package desk, from the ledger. The map must not change afterwards.
func (db *DB) Settle(settled map[signature.Signature]bool) { db.settled.Store(&settled) }

// Judge looks a message up in the filters (package judging). It does no I/O and cannot fail.
func (db *DB) Judge(set signature.Set) Evidence { return db.JudgeFrom(set, Sender{}) }

// JudgeFrom is Judge for a message of which the sender is known. If its From is proven and this
// site has seen unreported mail of that domain on several days, near matches do not list it.
func (db *DB) JudgeFrom(set signature.Set, s Sender) (e Evidence) {
	p := db.policy()
	p.Sender = s.From
	e = judging.Judge(db.keys, set, p)
	if e.IsSpared() && e.Sender == "" {
		db.ks.Never.Spared.Add(1)
	}
	return e
}

// Stands reports whether a revocation of set would end a listing of any site. It includes listings
// that the never-list or a retouch hides here: a revocation ends them at the other sites.
func (db *DB) Stands(set signature.Set) bool {
	if e := db.Judge(set); e.Listed || e.IsSpared() {
		return true
	}
	return slices.ContainsFunc(db.Explain(set), explain.Trace.Stands)
}

// Revocations returns how often a message or a near-duplicate was revoked in this period (layout.Rungs).
func (db *DB) Revocations(set signature.Set) int {
	rung := -1
	for _, ks := range db.keys {
		rung = max(rung, ks.Rung(set.ToReport()))
	}
	return (rung + 1) / 2
}

// IsShared reports whether other sites go by the newest word about a message (layout.SharedRungs).
func (db *DB) IsShared(set signature.Set) bool {
	return !slices.ContainsFunc(db.keys, func(ks *keyspace.Keyspace) bool { return ks.Rung(set.ToReport()) >= layout.SharedRungs })
}

// IsReported reports whether a report is this site's own last word about each signature of set. Without any it is false.
func (db *DB) IsReported(set signature.Set) bool { return db.isLastWord(layout.SpamFilter, set) }

// IsRevoked is IsReported for a revocation, but false while this site's last word about a sketch of set is a report.
func (db *DB) IsRevoked(set signature.Set) bool {
	hasReport := func(ks *keyspace.Keyspace) bool { return ks.Sketches.HasReport(set.Sketches) }
	return db.isLastWord(layout.RevokedFilter, set) && !slices.ContainsFunc(db.keys, hasReport)
}

func (db *DB) isLastWord(kind layout.Kind, set signature.Set) bool {
	return !slices.ContainsFunc(db.keys, func(ks *keyspace.Keyspace) bool { return !ks.IsLastWord(kind, set.Signatures) })
}

// Explain returns the trace of every signature of set, newest generation first.
func (db *DB) Explain(set signature.Set) []explain.Trace {
	traces, now := explain.Signatures(db.keys, set), db.ks.Settings.Now()
	for i, t := range traces {
		if db.burst != nil && slices.Contains(set.Counting, t.Signature) {
			burst := db.burst.Ask(db.ks.Ring.CountHash(t.Signature), now)
			traces[i].Burst = &burst
		}
	}
	return traces
}

// ExplainSketches returns the trace of every sketch of set. It omits an anchor without any of
// its keys: the filter reports such an anchor by error.
func (db *DB) ExplainSketches(set signature.Set) []explain.SketchTrace {
	return explain.Sketches(db.keys, set)
}

// ExplainDomains returns the traces of a message's link domains.
func (db *DB) ExplainDomains(set signature.Set) []judging.DomainTrace {
	return judging.ExplainDomains(db.keys, set, db.policy())
}
