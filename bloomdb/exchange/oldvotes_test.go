package exchange_test

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// An attacker replaces the current votes with those of an earlier epoch, and stops. The
// other site requests new ones, and receives the later reports.
func TestVotesOfAnEarlierEpochAreReplaced(t *testing.T) {
	testenv.Servers(t)
	m, _ := redistest.Mini(t)
	url := "redis://" + m.Addr()
	var keys *streams.Redis
	live := func(dir string) *site {
		a := startSite(t, dir, "a", url)
		keys = a.keys()
		return a
	}
	// published waits for new votes.
	published := func(before []byte) (votes []byte) {
		testenv.Eventually(t, "votes are published", func() bool {
			votes, _ = keys.Votes(t.Context(), "a")
			return votes != nil && string(votes) != string(before)
		})
		return votes
	}
	report := func(dir, name string) { // before the start: votes are published once a minute
		db, err := bloomdb.Open(siteOptions(dir, "a"))
		if err == nil {
			err = db.Report(mail("%s", name), bloomdb.ClassOther)
		}
		testenv.Check(t, err)
		testenv.Check(t, db.Close())
	}
	first, second, voters := t.TempDir(), t.TempDir(), t.TempDir()
	report(first, "first epoch")
	a := live(first)
	earlier := published(nil)
	a.stop()
	report(second, "second epoch")
	a = live(second)
	published(earlier)

	begin := func() *site {
		o := siteOptions(voters, "voter")
		o.Members, o.Votes = wire.Members{"a": {Trust: wire.TrustVote}}, 1
		return joinSite(t, o, url, exchange.Options{Interval: 20 * time.Millisecond, Heartbeat: 300 * time.Millisecond, SnapshotInterval: 100 * time.Millisecond})
	}
	knows := func(s *site, name string) {
		testenv.Eventually(t, "the site has the votes of the "+name, func() bool {
			s.x.RequestResync() // in production every half minute
			return s.lists(mail("%s", name))
		})
	}
	voter := begin()
	knows(voter, "second epoch")
	voter.stop()
	before, _ := keys.Votes(t.Context(), "a")
	a.stop()
	report(second, "news")
	live(second)
	published(before)
	m.HSet(keys.VotesKey(), "a", string(earlier))
	knows(begin(), "news")
}
