package follower

import (
	"os"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A site was restored from an older folder, Redis was emptied, and this site was restarted, so that
// it has no heartbeat to repeat. The numbers of the restored site are used, so its new reports are
// skipped as duplicates. It is shown as stale, and its snapshots supply them.
func TestRestoredSiteIsStaleAfterRestart(t *testing.T) {
	o := siteOptions(t, "a")
	a, b := bloomdbtest.MustOpen(t, o), openSite(t, "b")
	first := firstDelta(t, a)
	testenv.Check(t, a.Close())
	backup := t.TempDir()
	testenv.Check(t, os.CopyFS(backup, os.DirFS(o.Dir)))
	a = bloomdbtest.Open(t, o)
	testenv.Check(t, a.Resume(first.Epoch, first.Seq))
	bloomdbtest.Apply(t, b, first)
	for n := range 5 {
		d := nextDelta(t, a, 2+n)
		testenv.Check(t, a.Published(d))
		bloomdbtest.Apply(t, b, d)
	}

	o.Dir = backup
	a = bloomdbtest.Open(t, o)
	log := newLog()
	f := follow(b, log)
	publish := func(n int) {
		testenv.Check(t, a.Resume(a.Tail()))
		d := publishDelta(t, a, n)
		f.receiveHeartbeat(a.Heartbeat(0, 0), true)
		if len(f.Incomplete()) == 0 && n < 24 {
			t.Errorf("no snapshot with report %d is requested", n)
		}
		p := bloomdbtest.PublishSnapshot(t, a)
		store(log, p, d)
		f.receiveHeartbeat(a.Heartbeat(d.Seq, 0), true)
		look(t, f)
	}
	for n := 20; n < 26; n++ {
		publish(n)
		st := f.siteStatus(f.origins["a"], time.Now())
		if isStale := n < 24; !lists(b, n) || (st.Stale != nil) != isStale {
			t.Errorf("report %d is listed %v, stale at %v, want %v", n, lists(b, n), st.Stale, isStale)
		}
	}
}
