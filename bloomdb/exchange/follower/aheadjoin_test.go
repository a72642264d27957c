package follower

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A site joins while its clock is weeks ahead, so that all data of the others seems to have expired. Once
// the clock is right, also after a restart, it has all of that data.
func TestJoinWithClockAhead(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		a := openSite(t, "a")
		o, ahead := siteOptions(t, "b"), 42*24*time.Hour
		o.Now = func() time.Time { return time.Now().Add(ahead) }
		b := bloomdbtest.Open(t, o)
		log := newLog()
		f := follow(b, log)
		first := firstDelta(t, a)
		snapshot := bloomdbtest.PublishSnapshot(t, a)
		second := nextDelta(t, a, 2)
		testenv.Check(t, a.Published(second))
		store(log, snapshot, second)
		beat := func() { f.receiveHeartbeat(a.Heartbeat(first.Seq, 0), true) }
		beat()
		look(t, f)
		if epoch, seq := b.Cursor("a"); epoch != second.Epoch || seq != second.Seq || lists(b, 1) {
			t.Fatalf("read up to %d-%d, and listed: %v", epoch, seq, lists(b, 1))
		}
		if restarts {
			testenv.Check(t, b.Close())
			ahead = 0
			b = bloomdbtest.Open(t, o)
			f = follow(b, log)
		} else {
			drops := b.Drops()
			ahead = 0
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { b.Run(ctx) })
			testenv.Eventually(t, "the clock's correction is noticed", func() bool { return b.Drops() > drops })
			stop()
			running.Wait()
		}
		beat()
		look(t, f)
		if !lists(b, 1) || !lists(b, 2) {
			t.Errorf("restarts %v: listed: %v, %v; %+v", restarts, lists(b, 1), lists(b, 2), f.Status()[0])
		}
	}
}
