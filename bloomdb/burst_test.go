package bloomdb_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/recent"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func burstOptions(t testing.TB, c *bloomdbtest.Clock) bloomdb.Options {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Counts.Burst = 10 * time.Minute
	o.Now = c.Now
	return o
}

// burstOf returns the burst as Explain does.
func burstOf(t testing.TB, db *bloomdb.DB, n int) recent.Burst {
	t.Helper()
	traces := db.Explain(bloomdbtest.Message(n))
	if traces[0].Burst != nil || traces[1].Burst == nil {
		t.Fatalf("traces %+v: want a burst of the counting key only", traces)
	}
	return *traces[1].Burst
}

// A sighting is in the window for at least ten minutes and at most twelve.
func TestBurstWindow(t *testing.T) {
	c := bloomdbtest.NewClock() // 5:06:07: the sub-window began seven seconds ago
	db := bloomdbtest.Open(t, burstOptions(t, c))
	bloomdbtest.Count(t, db, 1, 7)
	for _, step := range []struct {
		after  time.Duration
		count  uint64
		covers time.Duration
	}{
		{0, 7, 0},
		{4 * time.Minute, 7, 4 * time.Minute},
		{6*time.Minute - time.Second, 7, 10*time.Minute - time.Second},
		{time.Minute + 53*time.Second, 7, 11*time.Minute + 52*time.Second},
		{time.Second, 0, 10 * time.Minute}, // 5:18:00: six sub-windows later
		{45 * time.Second, 0, 10*time.Minute + 45*time.Second},
	} {
		c.Add(step.after)
		if b := burstOf(t, db, 1); b.Count != step.count || b.Covers != step.covers || b.AtLeast || b.Missed {
			t.Errorf("%s: %+v, want %d in %s", c.Now().Format(time.TimeOnly), b, step.count, step.covers)
		}
	}
	bloomdbtest.Count(t, db, 1, 2)
	c.Add(2 * time.Minute)
	bloomdbtest.Count(t, db, 1, 3)
	if b := burstOf(t, db, 1); b.Count != 5 {
		t.Errorf("over two sub-windows: %+v, want 5", b)
	}
	c.Add(-24 * time.Hour)
	if b := burstOf(t, db, 1); b.Count != 0 || b.Covers != 0 {
		t.Errorf("a day before: %+v, want nothing", b)
	}
	bloomdbtest.Count(t, db, 1, 4)
	c.Add(time.Minute)
	if b := burstOf(t, db, 1); b.Count != 4 || b.Covers != time.Minute {
		t.Errorf("a minute after the clock was set back: %+v, want 4 in 1m", b)
	}
}

func TestBurstAfterRestart(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := burstOptions(t, c)
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Count(t, db, 1, 7)
	testenv.Check(t, db.Close())
	db = bloomdbtest.Open(t, o)
	c.Add(90 * time.Second)
	if b := burstOf(t, db, 1); b.Count != 0 || b.Covers != 90*time.Second {
		t.Errorf("%+v, want nothing in the 90 s since the start", b)
	}
	if e := db.Judge(bloomdbtest.Message(1)); e.Count != 7 {
		t.Errorf("count %d, want 7: only the window is in memory only", e.Count)
	}
}

// Above 64 in a sub-window, the count is a lower bound.
func TestBurstAtLeast(t *testing.T) {
	c := bloomdbtest.NewClock()
	db := bloomdbtest.Open(t, burstOptions(t, c))
	bloomdbtest.Count(t, db, 1, 60)
	if b := burstOf(t, db, 1); b.AtLeast || b.Count < 55 || b.Count > 65 {
		t.Errorf("60 sightings: %+v", b)
	}
	bloomdbtest.Count(t, db, 2, math.MaxUint32)
	if b := burstOf(t, db, 2); !b.AtLeast || b.Count < 60 || b.Count > 65 {
		t.Errorf("millions of sightings: %+v", b)
	}
	c.Add(2 * time.Minute)
	bloomdbtest.Count(t, db, 2, 10)
	if b := burstOf(t, db, 2); !b.AtLeast || b.Count < 70 || b.Count > 75 {
		t.Errorf("and 10 in the next sub-window: %+v", b)
	}
}

// A full sub-window reports that it missed sightings until it leaves the window, and is never
// more than half full.
func TestBurstFull(t *testing.T) {
	c := bloomdbtest.NewClock()
	db := bloomdbtest.Open(t, burstOptions(t, c))
	key := func(n int) filter.Hash { return bloomdbtest.Ring.CountHash(bloomdbtest.Message(n).Counting[0]) }
	n := 0
	for ; !burstOf(t, db, 1).Missed; n += 100 {
		for i := range 100 {
			db.Burst().Add(key(n+i), 1, c.Now())
		}
		if n > 10_000 {
			t.Fatal("the counter accepted ten times its capacity")
		}
	}
	if n < 1000 {
		t.Errorf("full after %d keys, capacity 1000", n)
	}
	if s := db.Status().Burst; !s.Missed || s.Fill > 0.5 || s.Fill < 0.49 || s.Memory != db.Burst().Bytes() || s.Window != 600 {
		t.Errorf("status %+v", s)
	}
	c.Add(2 * time.Minute)
	bloomdbtest.Count(t, db, 1_000_000, 5)
	if b := burstOf(t, db, 1_000_000); !b.Missed || b.Count < 5 {
		t.Errorf("in the next sub-window: %+v, want 5, marked as a minimum", b)
	}
	c.Add(10 * time.Minute)
	if b := burstOf(t, db, 1_000_000); b.Missed || b.Count != 5 {
		t.Errorf("after the full sub-window: %+v", b)
	}
}

func TestBurstParallel(t *testing.T) {
	c := bloomdbtest.NewClock()
	db := bloomdbtest.Open(t, burstOptions(t, c))
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for range 100 {
				bloomdbtest.Count(t, db, w, 1)
				db.Explain(bloomdbtest.Message(w))
				db.Status()
				c.Add(50 * time.Millisecond)
			}
		})
	}
	wg.Wait() // 20 seconds later, still in the same sub-window
	for w := range 4 {
		if b := burstOf(t, db, w); !b.AtLeast {
			t.Errorf("%+v, want 64 or more", b)
		}
	}
}

func TestBurstOptions(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	bloomdbtest.Count(t, db, 1, 1)
	if tr := db.Explain(bloomdbtest.Message(1)); tr[1].Burst != nil || db.Status().Burst != nil {
		t.Error("a burst counter exists although it is disabled")
	}
	for _, bad := range []time.Duration{-time.Minute, time.Second, 2 * time.Hour, 90*time.Second + 1} {
		o := bloomdbtest.Options(t.TempDir(), "mx1")
		if o.Counts.Burst = bad; true {
			if _, err := bloomdbtest.TryOpen(o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("burst window %s", bad)) {
				t.Errorf("window %s: %v", bad, err)
			}
		}
	}
	large := bloomdbtest.Options(t.TempDir(), "mx1")
	large.Counts = layout.CountOptions{Burst: time.Hour, Period: time.Hour, Capacity: 1e9}
	if _, err := bloomdbtest.TryOpen(large); err == nil || !strings.Contains(err.Error(), "burst window 1h0m0s: it would take 1") {
		t.Errorf("burst counter of many gigabytes: %v", err)
	}
	full := bloomdb.Options{Dir: "x", Site: "mx1", Counts: layout.CountOptions{Burst: 10 * time.Minute}}
	if b, err := recent.New(bloomdbtest.Settings(full)); err != nil || b.Bytes() < 1<<20 || b.Bytes() > 3<<20 {
		t.Errorf("%d bytes at the default capacity, documented as 2 MiB", b.Bytes())
	} else {
		t.Logf("%.2f MiB at the default capacity", float64(b.Bytes())/(1<<20))
	}
}
