package follower

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestDroppedEpochReplayed is the attack "dropped epoch": a site began again with a new folder, and was
// dropped here because of what it had reported before. A client with access to Redis, but without a
// key, has kept the records of the earlier epoch, and puts them back.
func TestDroppedEpochReplayed(t *testing.T) {
	earlier, b := openSite(t, "a"), openSite(t, "b")
	log := newLog()
	f := follow(b, log)
	old := firstDelta(t, earlier)
	snapshot, heartbeat := bloomdbtest.PublishSnapshot(t, earlier), earlier.Heartbeat(old.Seq, 0)
	store(log, snapshot, old)
	f.receiveHeartbeat(heartbeat, true)
	look(t, f)

	time.Sleep(2 * time.Millisecond) // an epoch is a time in milliseconds
	a := openSite(t, "a")
	testenv.Check(t, a.Resume(old.Epoch, old.Seq))
	latest := publishDelta(t, a, 2)
	p := bloomdbtest.PublishSnapshot(t, a)
	store(log, p, old, latest)
	f.receiveHeartbeat(a.Heartbeat(latest.Seq, 0), true)
	look(t, f)
	if !lists(b, 1) || !lists(b, 2) {
		t.Fatal("not both epochs are read")
	}

	testenv.Check(t, b.Drop("a"))
	testenv.Check(t, b.Mute("a", false))
	replay := func() {
		store(log, snapshot, old)
		f.receiveHeartbeat(heartbeat, true)
		f.receiveNews(News{Head: wire.Head{Type: wire.RecordDelta, Site: "a", Epoch: old.Epoch, Seq: old.Seq}, Record: old.Data})
		f.origins["a"].claim = streams.At(old.Epoch, old.Seq)
		look(t, f)
		if lists(b, 1) {
			t.Error("the dropped report is listed")
		}
	}
	replay()
	store(log, p, old, latest)
	f.receiveHeartbeat(a.Heartbeat(latest.Seq, 0), true)
	look(t, f)
	if !lists(b, 2) {
		t.Errorf("the site is not read again: %+v", f.Status())
	}
	replay()
	if f.refused.Of("a")[string(refusal.Replayed)] == 0 {
		t.Error("the replayed records are not shown")
	}
}
