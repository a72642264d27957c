package judging

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/vote"
)

// votes returns the sites that vote for the message, and the index in Keys of the best
// signature by which one of them does.
func (q *question) votes() (sites []string, best int) {
	best = journal.VotesPerMessage
	received := q.ks.Votes.Received.All()
	if len(received) == 0 {
		return nil, best
	}
	keys := make([]filter.Hash, 0, journal.VotesPerMessage)
	for _, i := range vote.Keys(q.exact) {
		keys = append(keys, q.hashes()[i])
	}
	now := q.ks.Settings.Generation(layout.SpamFilter, q.ks.Settings.Now())
	for _, v := range received {
		if i := slices.IndexFunc(keys, v.Has); i >= 0 && !v.Stale(now) && !q.view.Trusted.Mutes(v.Head.Site) {
			sites, best = append(sites, v.Head.Site), min(best, i)
		}
	}
	return sites, best
}
