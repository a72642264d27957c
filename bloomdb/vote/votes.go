package vote

import (
	"math"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/signature"
)

const (
	// Needed is the default of Options.Votes.
	Needed = 2
	// votesHeard is for how many generations after the one with which they begin
	// votes count: the two that they are of, and one in which the site is silent.
	votesHeard = 2
)

// Error bounds the chance that a message is listed by votes which nobody made a
// filter for: C(sites, needed) (2 F_p)^needed. It holds whatever the sites send.
func Error(sites, needed int) float64 {
	if sites < needed {
		return 0
	}
	pairs := 1.0
	for i := range needed {
		pairs *= float64(sites-i) / float64(i+1)
	}
	return min(1, pairs*math.Pow(journal.VotesPerMessage*wire.VotesShape.FalsePositiveBound(), float64(needed)))
}

// Keys are the indices of a message's keys: its text and its body, the best
// first. What has the same text is the same message, and most often has another
// body. Other kinds stand for parts that may be in good mail, too.
func Keys(signatures []signature.Signature) []int {
	var keys []int
	for _, kind := range [...]signature.Kind{signature.KindText, signature.KindBody} {
		i := slices.IndexFunc(signatures, func(s signature.Signature) bool { return s.Kind == kind })
		if i >= 0 {
			keys = append(keys, i)
		}
	}
	return keys
}

// Seed is where the positions of a key come from at one site. The hash is that
// of reports, so that the journal and Judge need no other one.
func Seed(site keyring.Sip, h filter.Hash) uint64 { return site.Hash(h[0]) }

// Positions appends the positions of a key to dst.
func Positions(seed uint64, dst []uint64) []uint64 {
	return wire.VotesShape.Positions(keyring.Stretch(seed), dst)
}

// Record is what the journal keeps of a report or revocation for the site's own
// votes; none where nothing of the message is voted by. While a revocation of this
// generation stands, here or at a site that is heard in full, a report has no effect.
func (vs *Register) Record(kind layout.Kind, signatures []signature.Signature, gen int64) []journal.Record {
	r := journal.Record{Target: layout.Target{Kind: kind, Gen: gen}}
	g := vs.store.View.Load().Report(gen)
	for _, i := range Keys(signatures) {
		h := vs.ring.ReportHash(signatures[i])
		if kind == layout.SpamFilter && g != nil && g.Revoked.Has(h) {
			continue
		}
		r.Votes = append(r.Votes, Seed(vs.Own.key, h))
	}
	if len(r.Votes) == 0 {
		return nil
	}
	return []journal.Record{r}
}
