package exchange

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The voter requests a site's votes unless the record in Redis has the epoch and stamp
// announced in the site's heartbeat. It does not request that record again, even if it is
// unusable here. Any client with write access may have put another record there.
func TestWhichVotesAreAskedFor(t *testing.T) {
	clock := time.Now().Add(-time.Minute)
	speak := func(db *bloomdb.DB, name string) (votes, heartbeat []byte) {
		clock = clock.Add(time.Second)
		if err := db.Report(mail("%s", name), bloomdb.ClassOther); err != nil {
			t.Fatal(err)
		}
		votes, stamp, err := db.Votes()
		if err != nil {
			t.Fatal(err)
		}
		return votes, db.Heartbeat(0, stamp)
	}
	live := func() *bloomdb.DB {
		o := siteOptions(t.TempDir(), "a")
		o.Now = func() time.Time { return clock }
		return openDB(t, o)
	}
	earlier, _ := speak(live(), "in an earlier life")
	clock = clock.Add(time.Second)
	db := live()
	older, _ := speak(db, "before")
	latest, heartbeat := speak(db, "now")
	for _, c := range []struct {
		name    string
		held    []byte // held by the voter before
		found   []byte
		foreign bool // the voter has another period
		asks    bool
	}{
		{name: "nothing", asks: true},
		{name: "junk", found: []byte("junk"), asks: true},
		{name: "an earlier life, new to the voter", found: earlier, asks: true},
		{name: "an earlier life", held: older, found: earlier, asks: true},
		{name: "older", found: older, asks: true},
		{name: "older than what is held", held: latest, found: older, asks: true},
		{name: "the latest", found: latest},
		{name: "the latest, held", held: latest, found: latest},
		{name: "the latest, of another period", found: latest, foreign: true},
		{name: "older, of another period", found: older, foreign: true, asks: true},
		{name: "an earlier life, of another period", found: earlier, foreign: true, asks: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := siteOptions(t.TempDir(), "voter")
			o.Members = wire.Members{"a": {Trust: wire.TrustVote}}
			if c.foreign {
				o.Reports.Period = 50 * time.Hour
			}
			voter, log := openDB(t, o), newSimLog(rand.New(rand.NewPCG(1, 1)))
			if c.held != nil {
				if err := voter.ApplyVotes(c.held); err != nil {
					t.Fatal(err)
				}
			}
			log.keys.votes["a"] = c.found
			x := newExchange(voter, &simWire{log: log}, Options{})
			x.receiveHeartbeat(heartbeat, true)
			if err := x.readVotes(t.Context(), x.origins["a"]); err != nil {
				t.Fatal(err)
			}
			if asks := len(x.incompleteSites()) > 0; asks != c.asks {
				t.Errorf("asks %v, want %v: %+v", asks, c.asks, x.Status().Sites)
			}
		})
	}
}

// An attacker replaces the current votes with those of an earlier epoch, and leaves. The
// voter requests them, and receives the later reports.
func TestVotesOfAnEarlierLifeDoNotStay(t *testing.T) {
	m, _ := startMini(t)
	url := "redis://" + m.Addr()
	var keys *streams
	live := func(dir string) *site {
		a := startSite(t, dir, "a", url)
		keys = a.keys()
		return a
	}
	// published waits for new votes.
	published := func(before []byte) (votes []byte) {
		testenv.Eventually(t, "votes are published", func() bool {
			votes, _ = keys.votes(t.Context(), "a")
			return votes != nil && string(votes) != string(before)
		})
		return votes
	}
	report := func(dir, name string) { // before the start: votes are published once a minute
		db, err := bloomdb.Open(siteOptions(dir, "a"))
		if err == nil {
			err = db.Report(mail("%s", name), bloomdb.ClassOther)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	first, second, voters := t.TempDir(), t.TempDir(), t.TempDir()
	report(first, "first life")
	a := live(first)
	earlier := published(nil)
	a.stop()
	report(second, "second life")
	a = live(second)
	published(earlier)

	begin := func() *site {
		o := siteOptions(voters, "voter")
		o.Members, o.Votes = wire.Members{"a": {Trust: wire.TrustVote}}, 1
		return joinSite(t, o, url, Options{Interval: 20 * time.Millisecond, Heartbeat: 300 * time.Millisecond, SnapshotInterval: 100 * time.Millisecond})
	}
	knows := func(s *site, name string) {
		testenv.Eventually(t, "the voter knows the "+name, func() bool {
			s.x.requestResync() // in production every half minute
			return s.lists(mail("%s", name))
		})
	}
	voter := begin()
	knows(voter, "second life")
	voter.stop()
	before, _ := keys.votes(t.Context(), "a")
	a.stop()
	report(second, "news")
	live(second)
	published(before)
	m.HSet(keys.votesKey(), "a", string(earlier))
	knows(begin(), "news")
}
