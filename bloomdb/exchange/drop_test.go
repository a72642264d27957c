package exchange_test

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The stream of a dropped site is read again from before the drop, however short the time in
// between.
func TestDroppedSiteIsReadAgain(t *testing.T) {
	m, _ := redistest.Mini(t)
	url := "redis://" + m.Addr()
	a, b := startSites(t, url, url)
	for i := range 5 {
		a.report(mail("before %d", i))
		b.awaitAll("before %d", i+1)
	}
	testenv.Check(t, b.db.Drop("a"))
	if b.lists(mail("before %d", 0)) {
		t.Error("a dropped report is listed")
	}
	testenv.Check(t, b.db.Mute("a", false))
	b.awaitAll("before %d", 5)
	a.report(mail("after"))
	testenv.Eventually(t, "the later report arrives", func() bool { return b.lists(mail("after")) })
	awaitLevel(t, a, b)
}
