package follower

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A site whose clock was far ahead, by more than a time.Duration can express, is read as soon as its
// clock is right.
func TestFarClockIsSetBack(t *testing.T) {
	for name, year := range map[string]int{"weeks": time.Now().Year() + 1, "centuries": 2500, "farthest": 280_000} {
		t.Run(name, func(t *testing.T) {
			f := follow(openSite(t, "b"), newLog())
			sealer := &wire.Sealer{Ring: bloomdbtest.Ring}
			beat := func(made time.Time) {
				h := wire.Head{Type: wire.RecordHeartbeat, Site: "a", Epoch: 1, Made: made}
				f.receiveHeartbeat(sealer.EncodeRecord(h, make([]byte, 16)), true)
			}
			beat(time.Date(year, 1, 2, 3, 4, 5, 6, time.UTC))
			if o := f.origins["a"]; o == nil || !o.isAhead() {
				t.Fatalf("the clock is not ahead: %+v", o)
			}
			beat(time.Now().Add(time.Second))
			if s := f.Status()[0]; f.origins["a"].isAhead() || s.Clock {
				t.Errorf("the heartbeat by the right clock is ignored: %+v", s)
			}
		})
	}
}

// A site reported while its clock was a day ahead. That record waits for its time, and those behind it in
// the stream do not: once the clock is right, a snapshot is requested, and read.
func TestRecordOfTheFutureDelaysNoOthers(t *testing.T) {
	ahead := 25 * time.Hour
	a, b := openAt(t, "a", func() time.Time { return time.Now().Add(ahead) }), openSite(t, "b")
	log := newLog()
	f := follow(b, log)
	future := firstDelta(t, a)
	ahead = 0
	behind := nextDelta(t, a, 2)
	testenv.Check(t, a.Published(behind))
	store(log, bloomdbtest.Snapshot{}, future, behind)
	f.receiveHeartbeat(a.Heartbeat(0, 0), true)
	look(t, f)
	site := f.origins["a"]
	if !time.Now().Before(site.held) {
		t.Fatal("the record of the future is not waited for")
	}
	if look(t, f); len(f.Incomplete()) != 1 { // the regular reading of the heads does not change that
		t.Error("no snapshot is requested")
	}
	store(log, bloomdbtest.PublishSnapshot(t, a), behind)
	f.receiveHeartbeat(a.Heartbeat(behind.Seq, 0), true)
	if look(t, f); !lists(b, 2) {
		t.Error("the snapshot is not read")
	}
}

// A site reported while its clock was in the next period. Once that has begun, other sites have the report,
// although they have read past it before.
func TestReportOfTheNextPeriodArrives(t *testing.T) {
	ahead, passed := 8*24*time.Hour, time.Duration(0)
	a := openAt(t, "a", func() time.Time { return time.Now().Add(ahead + passed) })
	b := openAt(t, "b", func() time.Time { return time.Now().Add(passed) })
	log := newLog()
	f := follow(b, log)
	future := firstDelta(t, a)
	ahead = 0
	behind := nextDelta(t, a, 2)
	testenv.Check(t, a.Published(behind))
	read := func() {
		store(log, bloomdbtest.PublishSnapshot(t, a), future, behind)
		_, seq := a.Head()
		f.receiveHeartbeat(a.Heartbeat(seq, 0), true)
		look(t, f)
	}
	f.receiveHeartbeat(a.Heartbeat(0, 0), true)
	look(t, f)
	read()
	if lists(b, 1) || !lists(b, 2) {
		t.Fatalf("before the period begins, listed: %v, %v", lists(b, 1), lists(b, 2))
	}
	passed = 8 * 24 * time.Hour
	f.origins["a"].held = time.Time{}
	if _, _, err := a.NextDelta(true); err != nil || !a.SnapshotDue() {
		t.Errorf("no snapshot is due: %v", err)
	}
	read()
	if !lists(b, 1) || !lists(b, 2) {
		t.Errorf("after it has begun, listed: %v, %v; %+v", lists(b, 1), lists(b, 2), f.Status()[0])
	}
}

// Requests are compared with publications of this process by the monotonic clock: the wall clock may
// have been ahead then.
func TestRequestHasMonotonicTime(t *testing.T) {
	a, f := openSite(t, "a"), follow(openSite(t, "b"), newLog())
	f.receiveHeartbeat(a.Heartbeat(0, 0, "b"), true)
	if at := f.WantedAt(); at.IsZero() || at == at.Round(0) {
		t.Errorf("wanted at %v", at)
	}
}
