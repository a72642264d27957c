package bloomdb_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A snapshot does not replace a delta, because sites that follow the stream do not read it.
// Changes that are pending when it is made are published, also after a crash.
func TestSnapshotIsNoDelta(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	a, follower := bloomdbtest.Open(t, o), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Apply(t, follower, bloomdbtest.Drain(t, a)...)
	bloomdbtest.Report(t, a, 2)
	bloomdbtest.Count(t, a, 2, 7)
	bloomdbtest.PublishSnapshot(t, a)
	crash(t, a)
	a = bloomdbtest.Open(t, o)
	bloomdbtest.Apply(t, follower, bloomdbtest.Drain(t, a)...)
	if e := follower.Judge(bloomdbtest.Message(2)); !e.Listed || e.Count != 7 {
		t.Errorf("reported and counted before the snapshot: %+v", e)
	}
}

// Rejected records stay wanted, whatever follows, until a snapshot of the site is applied
// without a rejection.
func TestRefusedIsWanted(t *testing.T) {
	ao := bloomdbtest.Options(t.TempDir(), "a")
	ao.Members = wire.Members{"b": {MaxReports: 1}}
	a, b := bloomdbtest.Open(t, ao), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	for i := range 10 {
		bloomdbtest.Report(t, b, i)
	}
	bloomdbtest.Count(t, b, 1, 7)
	refused := 0
	for _, d := range bloomdbtest.Drain(t, b) {
		err := a.Apply(d.Data, peers.Skipped)
		if err != nil && !errors.Is(err, wire.ErrCapped) {
			t.Fatal(err)
		}
		if err != nil {
			refused++
		}
	}
	wanting := func(want bool) {
		t.Helper()
		if a.Wanting("b") != want || a.Judge(bloomdbtest.Message(9)).Listed == want {
			t.Errorf("wanting %v, judged %+v", a.Wanting("b"), a.Judge(bloomdbtest.Message(9)))
		}
	}
	wanting(true)
	p := bloomdbtest.PublishSnapshot(t, b)
	if err := takePassing(t, p, a); !errors.Is(err, wire.ErrCapped) || refused != 1 {
		t.Errorf("%d deltas were refused, the snapshot with %v", refused, err)
	}
	wanting(true)
	testenv.Check(t, a.Close())
	ao.Members = nil
	a = bloomdbtest.Open(t, ao)
	wanting(true)
	p.Take(t, a)
	wanting(false)
}

// takePassing applies all parts of a snapshot that can be applied, like the exchange, and
// returns the last error.
func takePassing(t testing.TB, p bloomdbtest.Snapshot, db *bloomdb.DB) (refused error) {
	t.Helper()
	m, err := db.ReadManifest(p.Manifest)
	testenv.Check(t, err)
	for i, chunk := range p.Chunks {
		if err := db.ApplyChunk(m, i, chunk); err != nil {
			refused = err
		}
	}
	testenv.Check(t, db.FinishSnapshot(m))
	return refused
}

// A site whose reports exceed its cap can still revoke earlier ones.
func TestRevocationsOfACappedSite(t *testing.T) {
	for _, by := range []string{"deltas", "snapshot"} {
		ao := bloomdbtest.Options(t.TempDir(), "a")
		ao.Members = wire.Members{"b": {MaxReports: 2}}
		a, b := bloomdbtest.Open(t, ao), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
		bloomdbtest.Report(t, b, 0)
		bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, b)...)
		for i := range 10 {
			bloomdbtest.Report(t, b, 1+i)
		}
		testenv.Check(t, b.Revoke(bloomdbtest.Message(0)))
		deltas := bloomdbtest.Drain(t, b)
		if !a.Judge(bloomdbtest.Message(0)).Listed {
			t.Fatal("not listed")
		}
		var refused error
		if by == "snapshot" {
			refused = takePassing(t, bloomdbtest.PublishSnapshot(t, b), a)
		} else {
			for _, d := range deltas {
				refused = errors.Join(refused, a.Apply(d.Data, peers.Skipped))
			}
		}
		if e := a.Judge(bloomdbtest.Message(0)); !errors.Is(refused, wire.ErrCapped) || e.Listed {
			t.Errorf("by %s: refused with %v, judged %+v", by, refused, e)
		}
	}
}

// Reports made while this site's clock was far ahead are published only when their time has
// come, also if that comes between a stop and the next start. Otherwise other sites would reject all
// records of this site.
func TestReportsOfAClockAhead(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		now := bloomdbtest.NewClock()
		ao, bo := bloomdbtest.Options(t.TempDir(), "a"), bloomdbtest.Options(t.TempDir(), "b")
		ao.Now, bo.Now = now.Now, now.Now
		a, b := bloomdbtest.Open(t, ao), bloomdbtest.Open(t, bo)
		const ahead = 60 * 24 * time.Hour
		now.Add(ahead)
		bloomdbtest.Report(t, a, 1)
		bloomdbtest.Count(t, a, 1, 7)
		now.Add(-ahead)
		bloomdbtest.Report(t, a, 2)
		bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
		bloomdbtest.PublishSnapshot(t, a).Take(t, bloomdbtest.Open(t, another(t, bo)))
		if !b.Judge(bloomdbtest.Message(2)).Listed {
			t.Error("a report made with the right clock is not listed")
		}
		if restarts {
			testenv.Check(t, a.Close())
		}
		now.Add(ahead)
		if restarts {
			a = bloomdbtest.Open(t, ao)
		}
		bloomdbtest.Drain(t, a)
		if !a.SnapshotDue() {
			t.Errorf("restarts %v: no snapshot is due", restarts)
		}
		bloomdbtest.PublishSnapshot(t, a).Take(t, b)
		if e := b.Judge(bloomdbtest.Message(1)); !e.Listed || e.Count != 7 {
			t.Errorf("restarts %v: when its time has come: %+v", restarts, e)
		}
	}
}

// another returns the same options for another site.
func another(t testing.TB, o bloomdb.Options) bloomdb.Options {
	o.Dir, o.Site = t.TempDir(), "c"
	return o
}

// A site that lost its folder, and whose clock was set back, begins an epoch after the previous
// one, without its counts. Other sites add the counts of both.
func TestFolderLostWithClockBack(t *testing.T) {
	now := bloomdbtest.NewClock()
	ao, bo := bloomdbtest.Options(t.TempDir(), "a"), bloomdbtest.Options(t.TempDir(), "b")
	ao.Now, bo.Now = now.Now, now.Now
	a, b := bloomdbtest.Open(t, ao), bloomdbtest.Open(t, bo)
	bloomdbtest.Count(t, a, 1, 30)
	before := bloomdbtest.Drain(t, a)
	bloomdbtest.Apply(t, b, before...)
	crash(t, a)
	now.Add(-time.Minute)
	ao.Dir = t.TempDir()
	a = bloomdbtest.Open(t, ao)
	bloomdbtest.Count(t, a, 1, 7)
	last := before[len(before)-1]
	testenv.Check(t, a.Resume(last.Epoch, last.Seq))
	bloomdbtest.Drain(t, a)
	bloomdbtest.PublishSnapshot(t, a).Take(t, b)
	if n := b.Judge(bloomdbtest.Message(1)).Count; n != 37 {
		t.Errorf("%d sightings, want 30 of the previous epoch and 7", n)
	}
}

// A number reserved for a delta that was not made is not assigned after a later number was
// skipped. Otherwise a delta would seem to precede itself.
func TestSpareNumber(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	noteExpired(a, 1)
	d := bloomdbtest.Drain(t, a)
	if id, err := folder.ReadIdentity(bloomdbtest.OptionsOf(a).Dir); err != nil || len(d) != 0 || id.ReservedSeq <= id.PublishedSeq {
		t.Fatalf("%d deltas, and no number is set aside", len(d))
	}
	bloomdbtest.Report(t, a, 2)
	skipNumber(a)
	left := bloomdbtest.Drain(t, a)
	bloomdbtest.PublishSnapshot(t, a).Take(t, b)
	bloomdbtest.Apply(t, b, left...)
	if !b.Judge(bloomdbtest.Message(2)).Listed || b.Wanting("a") {
		t.Error("the delta after the skipped number was not applied")
	}
}

// A published delta confirms only its own content. After a crash, the counts that were left for
// the next delta are published.
func TestCrashBetweenDeltas(t *testing.T) {
	for _, all := range []bool{false, true} {
		o := bloomdbtest.Options(t.TempDir(), "a")
		a, b := bloomdbtest.Open(t, o), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
		bloomdbtest.Count(t, a, 1, 7)
		bloomdbtest.Report(t, a, 2)
		testenv.Check(t, a.Resume(0, 0))
		d, ok, err := a.NextDelta(all)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		bloomdbtest.Apply(t, b, d)
		testenv.Check(t, a.Published(d))
		writeIdentity(t, a, o.Dir)
		crash(t, a)
		a = bloomdbtest.Open(t, o)
		bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
		if e := b.Judge(bloomdbtest.Message(1)); e.Count != 7 || !b.Judge(bloomdbtest.Message(2)).Listed {
			t.Errorf("all %v: %+v", all, e)
		}
	}
}

// Reports made while a due snapshot is written are not in it, and stay pending for a delta,
// also after saves.
func TestReportWhileSnapshotIsWritten(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	a, b := bloomdbtest.Open(t, o), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	if err := a.Resume(0, 0); err != nil || !a.SnapshotDue() { // the stream is lost
		t.Fatal(err, a.SnapshotDue())
	}
	w := a.NewSnapshot()
	for more := true; more; {
		var err error
		if _, more, err = w.Next(); err != nil {
			t.Fatal(err)
		}
	}
	bloomdbtest.Report(t, a, 2)
	for range 2 {
		testenv.Check(t, a.Save())
	}
	if err := a.SnapshotPublished(w); err != nil || a.SnapshotDue() {
		t.Fatal(err, a.SnapshotDue())
	}
	crash(t, a)
	a = bloomdbtest.Open(t, o)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	if !b.Judge(bloomdbtest.Message(2)).Listed {
		t.Error("a report made meanwhile is lost")
	}
}

// tooMany is one more position than are kept for the next deltas.
const tooMany = 4_000_001
