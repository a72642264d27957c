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
	// votesCounted is the number of generations after the first one during which votes count:
	// two that they cover, and one in which the site may be silent.
	votesCounted = 2
)

// Error bounds the chance that votes list a message although nobody chose its bits:
// C(sites, needed) (2 F_p)^needed. It holds for any votes that the sites send.
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

// Keys returns the indices of a message's signatures that votes use, best first: its text and its
// body. The same text means the same message, and usually comes with another body. Other kinds
// stand for parts that legitimate mail may contain, too.
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

// Seed returns the seed of a key's positions at one site. It uses the hash of reports, so that
// the journal and Judge need no other one.
func Seed(site keyring.Sip, h filter.Hash) uint64 { return site.Hash(h[0]) }

// Positions appends the positions of a key to dst.
func Positions(seed uint64, dst []uint64) []uint64 {
	return wire.VotesShape.Positions(keyring.Stretch(seed), dst)
}

// Record returns the journal record by which a report or revocation changes the site's own votes.
// There is none if it would be empty. A reported signature is skipped if none of the first most
// rungs of its generation is left, so that it remains revoked.
func (vs *Register) Record(kind layout.Kind, signatures []signature.Signature, gen int64, most int) []journal.Record {
	r := journal.Record{Target: layout.Target{Kind: kind, Gen: gen}}
	g := vs.store.View.Load().Report(gen)
	for _, i := range Keys(signatures) {
		h := vs.ring.ReportHash(signatures[i])
		if g != nil {
			if _, ok := layout.NextRung(kind, g.WriteTop(h), most); !ok {
				continue
			}
		}
		r.Votes = append(r.Votes, Seed(vs.Own.key, h))
	}
	if len(r.Votes) == 0 {
		return nil
	}
	return []journal.Record{r}
}
