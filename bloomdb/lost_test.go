package bloomdb

import (
	"errors"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// A snapshot does not stand for a delta: who follows the stream never reads it. What
// waits to be published when it is made is published after a crash, too.
func TestSnapshotIsNoDelta(t *testing.T) {
	o := testOptions(t.TempDir(), "a")
	a, follower := openTest(t, o), openTest(t, testOptions(t.TempDir(), "b"))
	mustReport(t, a, 1)
	mustApply(t, follower, drain(t, a)...)
	mustReport(t, a, 2)
	mustCount(t, a, 2, 7)
	publishSnapshot(t, a)
	crash(t, a)
	a = openTest(t, o)
	mustApply(t, follower, drain(t, a)...)
	if e := follower.Judge(message(2)); !e.Listed || e.Count != 7 {
		t.Errorf("reported and counted before the snapshot: %+v", e)
	}
}

// What is refused is wanted, whatever follows it, until a snapshot of the site is taken
// of which nothing is refused.
func TestRefusedIsWanted(t *testing.T) {
	ao := testOptions(t.TempDir(), "a")
	ao.Members = wire.Members{"b": {MaxReports: 1}}
	a, b := openTest(t, ao), openTest(t, testOptions(t.TempDir(), "b"))
	for i := range 10 {
		mustReport(t, b, i)
	}
	mustCount(t, b, 1, 7)
	refused := 0
	for _, d := range drain(t, b) {
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
		if a.Wanting("b") != want || a.Judge(message(9)).Listed == want {
			t.Errorf("wanting %v, judged %+v", a.Wanting("b"), a.Judge(message(9)))
		}
	}
	wanting(true)
	p := publishSnapshot(t, b)
	if err := p.takePassing(t, a); !errors.Is(err, wire.ErrCapped) || refused != 1 {
		t.Errorf("%d deltas were refused, the snapshot with %v", refused, err)
	}
	wanting(true)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	ao.Members = nil
	a = openTest(t, ao)
	wanting(true)
	p.take(t, a)
	wanting(false)
}

// takePassing joins what of a snapshot can be joined, as the exchange would, and
// returns the last error.
func (p published) takePassing(t testing.TB, db *DB) (refused error) {
	t.Helper()
	m, err := db.ReadManifest(p.manifest)
	if err != nil {
		t.Fatal(err)
	}
	for i, chunk := range p.chunks {
		if err := db.ApplyChunk(m, i, chunk); err != nil {
			refused = err
		}
	}
	if err := db.FinishSnapshot(m); err != nil {
		t.Fatal(err)
	}
	return refused
}

// A site whose reports are over its cap can still take back what it has reported.
func TestRevocationsOfACappedSite(t *testing.T) {
	for _, by := range []string{"deltas", "snapshot"} {
		ao := testOptions(t.TempDir(), "a")
		ao.Members = wire.Members{"b": {MaxReports: 2}}
		a, b := openTest(t, ao), openTest(t, testOptions(t.TempDir(), "b"))
		mustReport(t, b, 0)
		mustApply(t, a, drain(t, b)...)
		for i := range 10 {
			mustReport(t, b, 1+i)
		}
		if err := b.Revoke(message(0)); err != nil {
			t.Fatal(err)
		}
		deltas := drain(t, b)
		if !a.Judge(message(0)).Listed {
			t.Fatal("not listed")
		}
		var refused error
		if by == "snapshot" {
			refused = publishSnapshot(t, b).takePassing(t, a)
		} else {
			for _, d := range deltas {
				refused = errors.Join(refused, a.Apply(d.Data, peers.Skipped))
			}
		}
		if e := a.Judge(message(0)); !errors.Is(refused, wire.ErrCapped) || e.Listed {
			t.Errorf("by %s: refused with %v, judged %+v", by, refused, e)
		}
	}
}

// What was reported while this site's clock was far ahead is kept back until then:
// others would take nothing more of the site.
func TestReportsOfAClockAhead(t *testing.T) {
	now := newClock()
	ao, bo := testOptions(t.TempDir(), "a"), testOptions(t.TempDir(), "b")
	ao.Now, bo.Now = now.Now, now.Now
	a, b := openTest(t, ao), openTest(t, bo)
	const ahead = 60 * 24 * time.Hour
	now.add(ahead)
	mustReport(t, a, 1)
	mustCount(t, a, 1, 7)
	now.add(-ahead)
	mustReport(t, a, 2)
	mustApply(t, b, drain(t, a)...)
	publishSnapshot(t, a).take(t, openTest(t, another(t, bo)))
	if !b.Judge(message(2)).Listed {
		t.Error("what was reported with a good clock is not listed")
	}
	now.add(ahead)
	mustApply(t, b, drain(t, a)...)
	if e := b.Judge(message(1)); !e.Listed || e.Count != 7 {
		t.Errorf("when its time has come: %+v", e)
	}
}

// another are the same options for another site.
func another(t testing.TB, o Options) Options {
	o.Dir, o.Site = t.TempDir(), "c"
	return o
}

// A folder that was lost while the clock was put back begins behind the life of before,
// and holds none of its counts: both are added.
func TestFolderLostWithClockBack(t *testing.T) {
	now := newClock()
	ao, bo := testOptions(t.TempDir(), "a"), testOptions(t.TempDir(), "b")
	ao.Now, bo.Now = now.Now, now.Now
	a, b := openTest(t, ao), openTest(t, bo)
	mustCount(t, a, 1, 30)
	before := drain(t, a)
	mustApply(t, b, before...)
	crash(t, a)
	now.add(-time.Minute)
	ao.Dir = t.TempDir()
	a = openTest(t, ao)
	mustCount(t, a, 1, 7)
	last := before[len(before)-1]
	if err := a.Resume(last.Epoch, last.Seq); err != nil {
		t.Fatal(err)
	}
	drain(t, a)
	publishSnapshot(t, a).take(t, b)
	if n := b.Judge(message(1)).Count; n != 37 {
		t.Errorf("%d sightings, must be 30 of the life before and 7", n)
	}
}

// A number that was set aside for a delta that came to nothing is not given once a later
// one was left out: the delta would seem to come before itself.
func TestSpareNumber(t *testing.T) {
	a, b := openTest(t, testOptions(t.TempDir(), "a")), openTest(t, testOptions(t.TempDir(), "b"))
	mustReport(t, a, 1)
	mustApply(t, b, drain(t, a)...)
	a.ks.Outbox.Note(layout.Target{Kind: layout.CountFilter, Gen: 0}, []uint64{1}) // of a generation that is gone
	d := drain(t, a)
	if id, err := folder.ReadIdentity(a.ks.Settings.Dir); err != nil || len(d) != 0 || id.ReservedSeq <= id.PublishedSeq {
		t.Fatalf("%d deltas, and no number is set aside", len(d))
	}
	mustReport(t, a, 2)
	a.ks.Outbox.Note(layout.Target{Kind: layout.CountFilter, Gen: 0}, make([]uint64, tooMany)) // so that a number is left out
	left := drain(t, a)
	publishSnapshot(t, a).take(t, b)
	mustApply(t, b, left...)
	if !b.Judge(message(2)).Listed || b.Wanting("a") {
		t.Error("the delta behind the number that was left out is not heard")
	}
}

// A delta that is published stands for what is in it. After a crash, the counts that
// were left for the next one are published.
func TestCrashBetweenDeltas(t *testing.T) {
	for _, all := range []bool{false, true} {
		o := testOptions(t.TempDir(), "a")
		a, b := openTest(t, o), openTest(t, testOptions(t.TempDir(), "b"))
		mustCount(t, a, 1, 7)
		mustReport(t, a, 2)
		if err := a.Resume(0, 0); err != nil {
			t.Fatal(err)
		}
		d, ok, err := a.NextDelta(all)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		mustApply(t, b, d)
		if err := a.Published(d); err != nil {
			t.Fatal(err)
		}
		if err := a.ks.Outbox.Close(o.Dir); err != nil { // the identity is written
			t.Fatal(err)
		}
		crash(t, a)
		a = openTest(t, o)
		mustApply(t, b, drain(t, a)...)
		if e := b.Judge(message(1)); e.Count != 7 || !b.Judge(message(2)).Listed {
			t.Errorf("all %v: %+v", all, e)
		}
	}
}

// What is reported while a snapshot is written that is due is not in it, and is kept for
// a delta: over saves, too.
func TestReportWhileSnapshotIsWritten(t *testing.T) {
	o := testOptions(t.TempDir(), "a")
	a, b := openTest(t, o), openTest(t, testOptions(t.TempDir(), "b"))
	mustReport(t, a, 1)
	mustApply(t, b, drain(t, a)...)
	if err := a.Resume(0, 0); err != nil || !a.SnapshotDue() { // the stream is gone
		t.Fatal(err, a.SnapshotDue())
	}
	w := a.NewSnapshot()
	for more := true; more; {
		var err error
		if _, more, err = w.Next(); err != nil {
			t.Fatal(err)
		}
	}
	mustReport(t, a, 2)
	for range 2 {
		if err := a.ks.Save(); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.SnapshotPublished(w); err != nil || a.SnapshotDue() {
		t.Fatal(err, a.SnapshotDue())
	}
	crash(t, a)
	a = openTest(t, o)
	mustApply(t, b, drain(t, a)...)
	if !b.Judge(message(2)).Listed {
		t.Error("a report made meanwhile is lost")
	}
}

// tooMany is one position more than are kept for the next deltas.
const tooMany = 4_000_001
