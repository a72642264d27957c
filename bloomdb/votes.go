package bloomdb

import (
	"math"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// A site that is not trusted in full is heard by its votes: a Generalized Bloom
// filter of the messages that were reported there lately, which every site
// publishes. It is asked as it came, for itself, and joined with nothing. A message
// is listed by votes when enough sites vote for it (Options.Votes).
//
//	Report, Revoke -> journal -> ownVotes -> Votes -> Redis
//	Redis -> HearVotes -> a voter -> Judge
//
// The shape is the same everywhere, and no option. One filter finds a message that
// was not chosen for its bits with the chance 2 F_p at most, whatever the bits: two
// keys are asked, and F_p = 2^-16. So v voters list such a message with the chance
// C(v,q) (2 F_p)^q at most, where q must agree: 4.2e-8 of 10 voters and two
// (VotesError). That needs voters that know nothing of each other. They may well
// conspire, so that a key has other positions at each site: who fills two sites'
// filters with the same bits has two independent ones. While the federation key is
// rolled over, a site has a filter under each key, and the bound is 2^q times as large.
//
// What no bound holds for is a message that is known beforehand: a member has the
// federation key, and can make its filter vote for whatever mail it has a copy of.
// So can an outsider by reports there. That takes as many such members as votes are
// needed.
//
// The filter forgets what is old. A report is lost with the chance 1 % when 1,750
// others have followed, 5 % after 4,200, half after 20,700: both its keys must be
// (FalseNegativeAfter). It also begins anew, so that no vote lives for ever: what is
// published goes back to the begin of the period of reports before this one, and no
// further.
var votesShape = filter.GeneralizedShape{M: 1 << 22, K0: 8, K1: 8}

const (
	// votesPerMessage is how many keys of a message are in a filter, and are asked.
	votesPerMessage = 2
	// votesNeeded is the default of Options.Votes.
	votesNeeded = 2
	// votesHeard is for how many generations after the one with which they begin
	// votes count: the two that they are of, and one in which the site is silent.
	votesHeard = 2
)

// VotesError bounds the chance that a message is listed by votes which nobody made a
// filter for: C(sites, needed) (2 F_p)^needed. It holds whatever the sites send.
func VotesError(sites, needed int) float64 {
	if sites < needed {
		return 0
	}
	pairs := 1.0
	for i := range needed {
		pairs *= float64(sites-i) / float64(i+1)
	}
	return min(1, pairs*math.Pow(votesPerMessage*votesShape.FalsePositiveBound(), float64(needed)))
}

// voteKeys are the indices of a message's keys: its text and its body, the best
// first. What has the same text is the same message, and most often has another
// body. Other kinds stand for parts that may be in good mail, too.
func voteKeys(signatures []signature.Signature) []int {
	var keys []int
	for _, kind := range [...]signature.Kind{signature.KindText, signature.KindBody} {
		i := slices.IndexFunc(signatures, func(s signature.Signature) bool { return s.Kind == kind })
		if i >= 0 {
			keys = append(keys, i)
		}
	}
	return keys
}

// voteSeed is where the positions of a key come from at one site. The hash is that
// of reports, so that the journal and Judge need no other one.
func voteSeed(site sipKey, h filter.Hash) uint64 { return site.hash(h[0]) }

// votesKey is the key of a site's positions.
func (r *ring) votesKey(site string) sipKey {
	return newSipKey(r.keyed.Sum(purposeVotes, []byte(site)))
}

// votePositions appends the positions of a key to dst.
func votePositions(seed uint64, dst []uint64) []uint64 {
	return votesShape.Positions(stretch(seed), dst)
}

// voteRecord is what the journal keeps of a report or revocation for the site's own
// votes; none where nothing of the message is voted by. While a revocation of this
// generation stands, here or at a site that is heard in full, a report has no effect.
func (vs *votes) voteRecord(kind filterKind, signatures []signature.Signature, gen int64) []record {
	r := record{target: target{kind, gen}}
	g := vs.store.view.Load().report(gen)
	for _, i := range voteKeys(signatures) {
		h := vs.ring.reportHash(signatures[i])
		if kind == spamFilter && g != nil && g.revoked.has(h) {
			continue
		}
		r.votes = append(r.votes, voteSeed(vs.own.key, h))
	}
	if len(r.votes) == 0 {
		return nil
	}
	return []record{r}
}
