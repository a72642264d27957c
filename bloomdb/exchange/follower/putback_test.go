package follower

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// publishDelta reports message n at a site and returns the delta, marked as published.
func publishDelta(t *testing.T, db *bloomdb.DB, n int) wire.Delta {
	t.Helper()
	d := nextDelta(t, db, n)
	testenv.Check(t, db.Published(d))
	return d
}

// store puts a snapshot of site a, and a stream of its deltas, into Redis.
func store(log *streamstest.Log, p bloomdbtest.Snapshot, stream ...wire.Delta) {
	log.Change(func(k streamstest.State) {
		k.Manifests["a"] = p.Manifest
		k.Slots["a"+string(byte(1))] = make(map[int][]byte)
		for i, chunk := range p.Chunks {
			k.Slots["a"+string(byte(1))][i] = chunk
		}
		var s streamstest.Stream
		for _, d := range stream {
			s.Entries = append(s.Entries, entryOf(d))
			s.Tail = streams.At(d.Epoch, d.Seq)
		}
		k.Streams["a"], k.Tails["a"] = s, s.Tail
	})
}

// TestSnapshotPutBack is the attack "snapshot put back": a client with access to Redis, but without a
// key, removes a delta and puts an earlier snapshot in the place of the announced one. The reader
// requests snapshots until one supplies the delta.
func TestSnapshotPutBack(t *testing.T) {
	a, b := openSite(t, "a"), openSite(t, "b")
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		f := follow(b, log)
		first := firstDelta(t, a)
		earlier := bloomdbtest.PublishSnapshot(t, a)
		removed, last := publishDelta(t, a, 2), publishDelta(t, a, 3)
		latest := bloomdbtest.PublishSnapshot(t, a)

		store(log, earlier, first, last)
		f.receiveHeartbeat(a.Heartbeat(last.Seq, 0), true)
		look(t, f)
		if !lists(b, 3) || lists(b, 2) {
			t.Fatalf("delta %d is not missing", removed.Seq)
		}
		for range 3 { // the heads are read twice a minute
			if len(f.Incomplete()) != 1 {
				t.Fatalf("no snapshot is requested: %+v", f.Status())
			}
			time.Sleep(resyncPeriod)
			look(t, f)
		}
		store(log, latest, first, last)
		time.Sleep(resyncPeriod)
		f.receiveHeartbeat(a.Heartbeat(last.Seq, 0), true)
		look(t, f)
		if !lists(b, 2) || len(f.Incomplete()) > 0 {
			t.Errorf("the delta is still missing: %+v", f.Status())
		}
	})
}

// TestGapWhileSnapshotsRest is the attack "gap while snapshots rest": after a large snapshot of a site,
// the next one is read an hour later. When a delta is removed meanwhile, those after it are applied
// at once, and the rest is requested.
func TestGapWhileSnapshotsRest(t *testing.T) {
	a, b := openSite(t, "a"), openSite(t, "b")
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		f := follow(b, log)
		first := firstDelta(t, a)
		snapshot := bloomdbtest.PublishSnapshot(t, a)
		store(log, snapshot, first)
		f.receiveHeartbeat(a.Heartbeat(first.Seq, 0), true)
		look(t, f)
		f.origins["a"].pay(512<<20, time.Now()) // of such a snapshot

		publishDelta(t, a, 2) // and it is removed
		last := publishDelta(t, a, 3)
		store(log, snapshot, first, last)
		f.receiveHeartbeat(a.Heartbeat(first.Seq, 0), true)
		look(t, f)
		if !lists(b, 3) || len(f.Incomplete()) != 1 {
			t.Errorf("the site is not read, or nothing is requested: %+v", f.Status())
		}
		latest := bloomdbtest.PublishSnapshot(t, a)
		store(log, latest, first, last)
		f.receiveHeartbeat(a.Heartbeat(last.Seq, 0), true)
		look(t, f)
		if lists(b, 2) {
			t.Error("a snapshot is read before its time")
		}
		time.Sleep(2 * time.Hour)
		look(t, f)
		if !lists(b, 2) {
			t.Errorf("the missing delta is not supplied: %+v", f.Status())
		}
	})
}

// Parts of a snapshot may be refused here. Requesting the same again is useless, until another delta
// is removed.
func TestRefusedSnapshotIsNotRequestedAgain(t *testing.T) {
	a, o := openSite(t, "a"), siteOptions(t, "b")
	o.Reports.Period = 50 * time.Hour
	b := bloomdbtest.Open(t, o)
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		f := follow(b, log)
		first := firstDelta(t, a)
		publishDelta(t, a, 2)
		third := countDelta(t, a)
		latest := bloomdbtest.PublishSnapshot(t, a)
		store(log, latest, first, third)
		f.receiveHeartbeat(a.Heartbeat(third.Seq, 0), true)
		look(t, f)
		if len(f.Incomplete()) > 0 {
			t.Errorf("a refused snapshot is requested again: %+v", f.Status())
		}
		countDelta(t, a)
		store(log, latest, first, third, countDelta(t, a))
		f.receiveHeartbeat(a.Heartbeat(third.Seq, 0), true)
		time.Sleep(resyncPeriod)
		look(t, f)
		if len(f.Incomplete()) != 1 {
			t.Errorf("another missing delta is not requested: %+v", f.Status())
		}
	})
}

// countDelta counts a message at a site and returns the delta, which any site can apply.
func countDelta(t *testing.T, db *bloomdb.DB) wire.Delta {
	t.Helper()
	bloomdbtest.Count(t, db, 1, 1)
	d, ok, err := db.NextDelta(true)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	testenv.Check(t, db.Published(d))
	return d
}
