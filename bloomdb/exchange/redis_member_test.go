package exchange_test

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// rungs is layout.Rungs.
const rungs = 16

// A member publishes all rungs of a message's ladder through a real Redis, the last ones in the name
// of its administrator. Sites that list it again do so for their own users, also after a restart and
// from the member's snapshot.
func TestForgedRungsThroughRedis(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "redis-server")
	server := redistest.Start(t)
	dir := t.TempDir()
	a, member := startSite(t, dir, "a", server.URL()), startSite(t, t.TempDir(), "member", server.URL())
	m, last := mail("contested"), mail("the last one")
	member.db.Settle(map[signature.Signature]bool{m.Signatures[0]: true})
	for i := range rungs {
		if i == rungs-1 {
			member.db.Settle(map[signature.Signature]bool{m.Signatures[0]: false})
		}
		if i%2 == 0 {
			member.report(m)
		} else {
			member.revoke(m)
		}
	}
	member.report(last)
	arrived := func(s *site) {
		t.Helper()
		testenv.Eventually(t, "the rungs arrive", func() bool { return s.lists(last) && s.of("member").Lag == 0 })
	}
	arrived(a)
	if a.lists(m) {
		t.Error("the first eight rungs do not revoke it")
	}
	for i := range 5 {
		if i%2 == 0 {
			a.report(m)
		} else {
			a.revoke(m)
		}
		if a.lists(m) != (i%2 == 0) {
			t.Errorf("after %d changes here: listed %v", i+1, a.lists(m))
		}
	}
	a.stop()
	a = startSite(t, dir, "a", server.URL())
	if !a.lists(m) {
		t.Error("not listed after a restart")
	}
	late := startSite(t, t.TempDir(), "late", server.URL())
	arrived(late)
	late.report(m)
	if !late.lists(m) {
		t.Error("not listed at a site that came later")
	}
}
