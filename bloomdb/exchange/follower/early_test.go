package follower

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A member writes into the period that a site with a clock ahead takes for the current one. Once that clock is
// right, it does not overrule what other sites report and revoke, nor count, until that period begins.
func TestMemberInAPeriodThatHasNotBegun(t *testing.T) {
	ahead, passed := 8*24*time.Hour, time.Duration(0)
	open := func(name string, ahead *time.Duration) *bloomdb.DB {
		db := openAt(t, name, func() time.Time { return time.Now().Add(*ahead + passed) })
		testenv.Check(t, db.Resume(0, 0))
		return db
	}
	right, wrong := time.Duration(0), ahead
	a, member, b := open("a", &right), open("member", &wrong), open("b", &ahead)
	send := func(from *bloomdb.DB) {
		for _, d := range bloomdbtest.Drain(t, from) {
			testenv.Check(t, b.Apply(d.Data, peers.Next))
		}
	}
	bloomdbtest.Report(t, member, 1)
	bloomdbtest.Revoke(t, member, 1)
	bloomdbtest.Report(t, member, 2)
	bloomdbtest.Count(t, member, 3, 7)
	send(member)
	if e := b.Judge(bloomdbtest.Message(3)); !lists(b, 2) || e.Count != 7 {
		t.Errorf("with the wrong clock: %v, %d", lists(b, 2), e.Count)
	}
	ahead = 0
	bloomdbtest.Report(t, a, 1)
	send(a)
	if e := b.Judge(bloomdbtest.Message(3)); !lists(b, 1) || lists(b, 2) || e.Count != 0 {
		t.Errorf("with the right clock: %v, %v, %d", lists(b, 1), lists(b, 2), e.Count)
	}
	passed = wrong
	if lists(b, 1) || !lists(b, 2) {
		t.Errorf("when the period has begun: %v, %v", lists(b, 1), lists(b, 2))
	}
}
