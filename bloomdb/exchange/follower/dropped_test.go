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

// As TestDroppedEpochReplayed, but the site's clock was a month ahead for a moment in its earlier epoch. A
// heartbeat of that moment makes it look set back, so that earlier ones seem to be new.
func TestDroppedEpochOfTheFutureReplayed(t *testing.T) {
	ahead := time.Duration(0)
	clock := func() time.Time { return time.Now().Add(ahead) }
	setTo := func(off time.Duration) { ahead = off }
	setTo(-10 * time.Minute)
	earlier, b := openAt(t, "a", clock), openSite(t, "b")
	old := firstDelta(t, earlier)
	snapshot := bloomdbtest.PublishSnapshot(t, earlier)
	var kept [][]byte
	for _, off := range []time.Duration{30 * 24 * time.Hour, -9 * time.Minute, -8 * time.Minute} {
		setTo(off)
		kept = append(kept, earlier.Heartbeat(old.Seq, 0))
	}
	setTo(0)
	a := openAt(t, "a", clock)
	testenv.Check(t, a.Resume(old.Epoch, old.Seq))
	latest := publishDelta(t, a, 2)
	p := bloomdbtest.PublishSnapshot(t, a)

	log := newLog()
	f := follow(b, log)
	store(log, p, old, latest)
	f.receiveHeartbeat(a.Heartbeat(latest.Seq, 0), true)
	look(t, f)
	if !lists(b, 1) || !lists(b, 2) {
		t.Fatal("not both epochs are read")
	}
	testenv.Check(t, b.Drop("a"))
	testenv.Check(t, b.Mute("a", false))
	f.afterDrop()
	replay := func(what string) {
		store(log, snapshot, old)
		for _, heartbeat := range kept {
			f.receiveHeartbeat(heartbeat, true)
			f.origins["a"].claim = streams.At(old.Epoch, old.Seq)
			look(t, f)
		}
		if o := f.origins["a"]; lists(b, 1) || !o.isDropped && o.floor < latest.Epoch {
			t.Errorf("%s: the dropped report is listed: %v; the floor is %d, of %d", what, lists(b, 1), o.floor, latest.Epoch)
		}
	}
	replay("before the site is heard")
	store(log, p, old, latest)
	setTo(time.Second)
	f.receiveHeartbeat(a.Heartbeat(latest.Seq, 0), true)
	if look(t, f); !lists(b, 2) {
		t.Errorf("the site is not read again: %+v", f.Status())
	}
	replay("afterwards")
}
