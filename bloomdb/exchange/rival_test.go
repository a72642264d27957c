package exchange_test

import (
	"crypto/ed25519"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A daemon with the federation key has published in the name of a site without a key in any
// [[peer]], and has stopped. The other sites treat its epoch as the site's latest until they
// drop the site.
func TestSiteIsReadAfterARivalAndADrop(t *testing.T) {
	m, _ := redistest.Mini(t)
	url := "redis://" + m.Addr()
	signed := func() bloomdb.Options {
		o := siteOptions(t.TempDir(), "a")
		_, o.SigningKey, _ = ed25519.GenerateKey(nil)
		return o
	}
	genuine := signed()
	b, c := startSite(t, t.TempDir(), "b", url), startSite(t, t.TempDir(), "c", url)
	a := startSiteWith(t, genuine, url)
	a.report(mail("before"))
	for _, s := range []*site{b, c} {
		testenv.Eventually(t, "it arrives", func() bool { return s.lists(mail("before")) })
	}
	a.stop()
	rival := startSiteWith(t, signed(), url)
	rival.report(mail("by the rival"))
	for _, s := range []*site{b, c} {
		testenv.Eventually(t, "the rival's report arrives", func() bool { return s.lists(mail("by the rival")) })
	}
	rival.stop()

	a = startSiteWith(t, genuine, url)
	a.report(mail("after"))
	for _, s := range []*site{b, c} {
		testenv.Eventually(t, "it is stale", func() bool { return s.of("a").Stale != nil })
		if s.lists(mail("after")) {
			t.Error("the site's deltas are applied without a drop")
		}
	}
	for _, s := range []*site{b, c} {
		testenv.Check(t, s.db.Drop("a"))
		testenv.Check(t, s.db.Mute("a", false))
		testenv.Eventually(t, "it arrives again", func() bool {
			s.x.RequestResync() // in production every half minute
			return s.lists(mail("after"))
		})
	}
	epoch, _ := a.db.Head()
	if got := b.of("a").Applied.Epoch; got != epoch {
		t.Errorf("applied epoch %d, want %d", got, epoch)
	}
}
