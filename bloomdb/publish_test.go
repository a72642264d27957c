package bloomdb_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Crashes occur at any point between making, sending and confirming a delta. In the end, the
// stream contains all reports.
func TestPublishAcrossCrashes(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	o := bloomdbtest.Options(t.TempDir(), "a")
	var stream []wire.Delta
	sent := func() (epoch, seq uint64) {
		if len(stream) == 0 {
			return 0, 0
		}
		return stream[len(stream)-1].Epoch, stream[len(stream)-1].Seq
	}
	n := 0
	for range testenv.Rounds(60) {
		db, err := bloomdbtest.TryOpen(o)
		testenv.Check(t, err)
		testenv.Check(t, db.Resume(sent()))
		for range r.IntN(12) {
			switch r.IntN(4) {
			case 0:
				bloomdbtest.Report(t, db, n)
				n++
			case 1:
				testenv.Check(t, db.Save())
			case 2:
				writeIdentity(t, db, o.Dir)
			case 3:
				d, ok, err := db.NextDelta(true)
				testenv.Check(t, err)
				if !ok || r.IntN(4) == 0 { // a crash before it is sent
					break
				}
				stream = append(stream, d)
				if r.IntN(4) > 0 { // or a crash before the answer is read
					db.Published(d)
				} else if err := db.Resume(d.Epoch, d.Seq); err != nil {
					t.Fatal(err)
				}
			}
		}
		if r.IntN(3) == 0 {
			testenv.Check(t, db.Close())
		} else {
			crash(t, db)
		}
	}
	db := bloomdbtest.Open(t, o)
	testenv.Check(t, db.Resume(sent()))
	stream = append(stream, bloomdbtest.Drain(t, db)...)
	b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	for _, d := range stream { // a crash leaves numbers that no delta has
		testenv.Check(t, b.Apply(d.Data, peers.Skipped))
	}
	for i := range n {
		if !b.Judge(bloomdbtest.Message(i)).Listed {
			t.Errorf("message %d of %d is lost", i, n)
		}
	}
}

// If the stream is lost (FLUSHALL), or the exchange is enabled later, a snapshot is due, and a
// site that had everything before misses nothing.
func TestPublishAgain(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Exchange = false
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	bloomdbtest.Count(t, db, 1, 33)
	db.Close()
	o.Exchange = true
	db = bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 2)
	follower := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "c"))
	check := func(what string) {
		t.Helper()
		b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
		stream := bloomdbtest.Drain(t, db)
		if !db.SnapshotDue() {
			t.Errorf("%s: no snapshot is due", what)
		}
		p := bloomdbtest.PublishSnapshot(t, db)
		if len(stream) > 0 && b.Apply(stream[0].Data, peers.Next) == nil {
			t.Errorf("%s: a new site reports no gap", what)
		}
		p.Take(t, b)
		for _, db := range []*bloomdb.DB{b, follower} {
			bloomdbtest.Apply(t, db, stream...)
		}
		if e := b.Judge(bloomdbtest.Message(1)); !e.Listed || e.Count != 33 || !b.Judge(bloomdbtest.Message(2)).Listed {
			t.Errorf("%s: %+v", what, e)
		}
	}
	testenv.Check(t, db.Resume(db.Head()))
	w := db.NewSnapshot()
	if w.Seq() != 1 || !db.SnapshotDue() {
		t.Fatalf("switched on later: position %d, want the first number skipped", w.Seq())
	}
	bloomdbtest.PublishSnapshot(t, db).Take(t, follower)
	bloomdbtest.Apply(t, follower, bloomdbtest.Drain(t, db)...)
	testenv.Check(t, db.Resume(0, 0))
	bloomdbtest.Report(t, db, 3)
	check("stream lost")
	if !follower.Judge(bloomdbtest.Message(3)).Listed || follower.Wanting("a") {
		t.Error("a site that had all data reports a gap")
	}

	// The folder is replaced by an older copy, and the stream is ahead of it.
	epoch, _ := db.Head()
	testenv.Check(t, db.Resume(epoch+5, 9))
	check("folder restored")
	bloomdbtest.Report(t, db, 4)
	if d, ok, _ := db.NextDelta(true); !ok || d.Epoch != epoch+7 || d.Seq != 2 {
		t.Errorf("the new epoch begins at %d-%d, was %d", d.Epoch, d.Seq, epoch)
	}
	testenv.Check(t, db.Close())
	bloomdbtest.Open(t, o) // with the filter files of the previous epoch
}

// Sites that hold both epochs do not add an epoch that continues the counts of an earlier one.
// They do add one that began empty.
func TestEpochs(t *testing.T) {
	c := bloomdbtest.NewClock()
	ao := bloomdbtest.Options(t.TempDir(), "a")
	ao.Now = c.Now
	a, b := bloomdbtest.Open(t, ao), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Count(t, a, 1, 10)
	first := bloomdbtest.Drain(t, a)
	bloomdbtest.Apply(t, b, first...)
	epoch, seq := a.Head()
	if err := a.Resume(epoch, seq+100); err != nil { // numbers that this folder did not assign
		t.Fatal(err)
	}
	bloomdbtest.PublishSnapshot(t, a).Take(t, b)
	bloomdbtest.Count(t, a, 1, 3)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	if err := b.Apply(first[0].Data, peers.Next); !errors.Is(err, wire.ErrReplayed) {
		t.Errorf("a record of the previous epoch: %v", err)
	}
	if e := b.Judge(bloomdbtest.Message(1)); e.Count != 13 {
		t.Errorf("count %d after an epoch that was continued, want 13", e.Count)
	}
	a.Close()
	c.Add(time.Hour)
	ao.Dir = t.TempDir() // the folder is lost
	a = bloomdbtest.Open(t, ao)
	bloomdbtest.Count(t, a, 1, 4)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	if e := b.Judge(bloomdbtest.Message(1)); e.Count != 17 || e.Sites != 1 {
		t.Errorf("count %d at %d sites after a new folder, want 17 at 1", e.Count, e.Sites)
	}
}

// Redis loses its last deltas, and the daemon's host crashes as well. The lost numbers are not
// assigned again: receivers would take the new deltas for the old ones.
func TestNumbersAreNotReused(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	a, b := bloomdbtest.Open(t, o), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	n := 0
	for ; n < 5; n++ {
		bloomdbtest.Report(t, a, n)
		bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	}
	epoch, _ := a.Head()
	crash(t, a)
	for _, tail := range []uint64{3, 0} {
		a = bloomdbtest.Open(t, o)
		bloomdbtest.Report(t, a, n)
		testenv.Check(t, a.Resume(epoch, tail))
		for _, d := range bloomdbtest.Drain(t, a) {
			if _, seq := b.Cursor("a"); d.Seq <= seq {
				t.Errorf("number %d assigned again, b has %d", d.Seq, seq)
			}
			testenv.Check(t, b.Apply(d.Data, peers.Skipped))
		}
		if !b.Judge(bloomdbtest.Message(n)).Listed {
			t.Errorf("tail %d: b did not receive report %d", tail, n)
		}
		n++
		crash(t, a)
	}
}

// If the stream is lost while a delta is in flight, its confirmation does not mean that all
// changes are published.
func TestLostStreamWithADeltaInFlight(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	a := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Drain(t, a)
	bloomdbtest.Report(t, a, 2)
	d, ok, err := a.NextDelta(true)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	testenv.Check(t, a.Resume(0, 0))
	a.Published(d)
	stream := []wire.Delta{d}
	writeIdentity(t, a, o.Dir)
	crash(t, a) // before the rest is published
	a = bloomdbtest.Open(t, o)
	testenv.Check(t, a.Resume(d.Epoch, d.Seq))
	stream = append(stream, bloomdbtest.Drain(t, a)...)
	b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	if !a.SnapshotDue() {
		t.Fatal("no snapshot is due")
	}
	bloomdbtest.PublishSnapshot(t, a).Take(t, b)
	for _, d := range stream {
		testenv.Check(t, b.Apply(d.Data, peers.Skipped))
	}
	if !b.Judge(bloomdbtest.Message(1)).Listed || !b.Judge(bloomdbtest.Message(2)).Listed {
		t.Error("a new site does not receive the content of the lost stream")
	}
}
