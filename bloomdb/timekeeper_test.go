package bloomdb_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// clocks are a wall clock that can jump and a monotonic clock that cannot.
type clocks struct {
	*bloomdbtest.Clock
	elapsed time.Duration
}

func newClocks() *clocks { return &clocks{Clock: bloomdbtest.NewClock()} }

// pass advances both clocks.
func (c *clocks) pass(d time.Duration) {
	c.Add(d)
	c.elapsed += d
}

func (c *clocks) options(dir string) bloomdb.Options {
	o := bloomdbtest.Options(dir, "mx1")
	o.Now, o.Elapsed = c.Now, func() time.Duration { return c.elapsed }
	return o
}

// maintainFor performs the periodic work of a daemon that runs for a duration.
func maintainFor(t *testing.T, db *bloomdb.DB, c *clocks, d time.Duration) {
	t.Helper()
	for range layout.KeepExpired + 1 {
		c.pass(d / (layout.KeepExpired + 1))
		must(t, db.Maintain())
	}
}

// The clock jumps by periods of reports and counts, for ten minutes and with a restart. Nothing
// expires, reports made meanwhile are known and can be revoked at once, and status and log
// report the jump until it is over.
func TestClockJumpForAWhile(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	const day = 24 * time.Hour
	for _, jump := range []time.Duration{
		2 * time.Hour, day, 2 * day, 7 * day, 8 * day, 35 * day, 60 * day, 4000 * day,
		-2 * time.Hour, -day, -8 * day, -60 * day, -4000 * day,
	} {
		t.Run(jump.String(), func(t *testing.T) {
			c := newClocks()
			var logged bytes.Buffer
			o := c.options(t.TempDir())
			o.Log = slog.New(slog.NewTextHandler(&logged, nil))
			db := bloomdbtest.Open(t, o)
			bloomdbtest.Report(t, db, 1)
			bloomdbtest.Count(t, db, 1, 5)
			maintainFor(t, db, c, 10*time.Minute)

			c.Add(jump)
			for _, restart := range []bool{false, true} {
				if restart {
					must(t, db.Close())
					db = bloomdbtest.Open(t, o)
				}
				maintainFor(t, db, c, 10*time.Minute)
				listed(t, db, 1, true)
				if n := db.Judge(bloomdbtest.Message(1)).Count; n != 5 {
					t.Errorf("counted %d times, want 5", n)
				}
			}
			status := db.Status().Clock
			if status == nil || status.Ahead*float64(jump) <= 0 || status.Believed.Sub(status.Since) != clock.ConfirmAfter {
				t.Errorf("status %+v after a jump of %s", status, jump)
			}
			bloomdbtest.Report(t, db, 2)
			listed(t, db, 2, true)
			bloomdbtest.Revoke(t, db, 2)
			listed(t, db, 2, false)

			c.Add(-jump)
			maintainFor(t, db, c, 10*time.Minute)
			listed(t, db, 1, true)
			listed(t, db, 2, false)
			if n := db.Judge(bloomdbtest.Message(1)).Count; n != 5 {
				t.Errorf("counted %d times in the end, want 5", n)
			}
			bloomdbtest.Report(t, db, 3)
			bloomdbtest.Revoke(t, db, 3)
			listed(t, db, 3, false)
			if db.Status().Clock != nil {
				t.Errorf("status %+v although the clock is right again", db.Status().Clock)
			}
			if !strings.Contains(logged.String(), "the clock has jumped") {
				t.Errorf("log: %s", &logged)
			}
		})
	}
}

// A jump that lasts is believed after a day, and old generations then expire. Reports in a
// generation of the future can be revoked when the clock is right again.
func TestClockJumpForGood(t *testing.T) {
	const day = 24 * time.Hour
	c := newClocks()
	o := c.options(t.TempDir())
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	c.Add(60 * day)
	maintainFor(t, db, c, clock.ConfirmAfter-time.Hour)
	listed(t, db, 1, true)
	for range 3 { // restarts do not restart the day
		must(t, db.Close())
		db = bloomdbtest.Open(t, o)
		maintainFor(t, db, c, 25*time.Minute)
	}
	if s := db.Status().Clock; s != nil {
		t.Errorf("not believed after a day: %+v", s)
	}
	if !db.Now().Equal(c.Now()) {
		t.Errorf("the time is %s, the clock %s", db.Now(), c.Now())
	}
	maintainFor(t, db, c, time.Hour)
	listed(t, db, 1, false)
	bloomdbtest.Report(t, db, 2)
	bloomdbtest.Report(t, db, 3)

	c.Add(-60 * day) // it was wrong
	maintainFor(t, db, c, clock.ConfirmAfter+time.Hour)
	if !db.Now().Equal(c.Now()) {
		t.Errorf("the time is %s, the clock %s", db.Now(), c.Now())
	}
	listed(t, db, 2, true)
	bloomdbtest.Revoke(t, db, 2)
	listed(t, db, 2, false)
	listed(t, db, 3, true)
	must(t, db.Close())
	db = bloomdbtest.Open(t, o)
	listed(t, db, 2, false)
}

// A clock that repeatedly jumps by less than the bound gains at most the bound in an hour.
func TestManySmallJumps(t *testing.T) {
	c := newClocks()
	db := bloomdbtest.Open(t, c.options(t.TempDir()))
	bloomdbtest.Report(t, db, 1)
	begin := db.Now()
	for range 10_000 {
		c.Add(clock.MaxSkew - time.Minute)
		db.Now()
	}
	if gained := db.Now().Sub(begin); gained > clock.MaxSkew {
		t.Errorf("gained %s", gained)
	}
	listed(t, db, 1, true)
}

// The record of the only other trusted site confirms a clock that is ahead, a minute after the
// start at the earliest. So a long stop causes no delay if there are other sites. An old record, or
// one of a muted site, confirms nothing.
func TestClockIsConfirmedBySites(t *testing.T) {
	c := newClocks()
	db := bloomdbtest.Open(t, c.options(t.TempDir()))
	o := bloomdbtest.Options(t.TempDir(), "mx2")
	other := bloomdbtest.Open(t, o)
	old := other.Heartbeat(0, 0)
	bloomdbtest.Report(t, db, 1) // every clock is believed without a report
	c.Add(30 * 24 * time.Hour)
	o.Dir, o.Now = t.TempDir(), c.Now
	fresh := bloomdbtest.Open(t, o)
	apply := func(record []byte, doubted bool) {
		t.Helper()
		if _, err := db.ReadHeartbeat(record); err != nil {
			t.Fatal(err)
		}
		if got := db.Clock() != nil; got != doubted {
			t.Errorf("doubted %v, want %v", got, doubted)
		}
	}
	apply(old, true)
	must(t, db.Mute("mx2", true))
	apply(fresh.Heartbeat(0, 0), true)
	must(t, db.Mute("mx2", false))
	apply(fresh.Heartbeat(0, 0), true)
	c.pass(time.Minute)
	apply(fresh.Heartbeat(0, 0), false)
	if !db.Now().Equal(c.Now()) {
		t.Errorf("the time is %s, the clock %s", db.Now(), c.Now())
	}
}

// A new site whose clock is ahead has reports of another site when the clock is corrected. They are no reason
// to doubt the correction, which expires nothing: otherwise one member could keep the time wrong for a day.
func TestClockOfNewSiteGoesBack(t *testing.T) {
	c := newClocks()
	db := bloomdbtest.Open(t, c.options(t.TempDir()))
	o := bloomdbtest.Options(t.TempDir(), "mx2")
	c.Add(42 * 24 * time.Hour)
	db.Now()
	o.Now = c.Now
	other := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, other, 1)
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, other)...)
	listed(t, db, 1, true)
	c.Add(-42 * 24 * time.Hour)
	if !db.Now().Equal(c.Now()) {
		t.Errorf("back: the time is %s, the clock %s", db.Now(), c.Now())
	}
	c.Add(21 * 24 * time.Hour)
	if db.Now().Equal(c.Now()) {
		t.Error("a jump ahead, which could expire the other site's reports, is accepted")
	}
	c.Add(-21 * 24 * time.Hour)
	bloomdbtest.Report(t, db, 2)
	c.Add(-21 * 24 * time.Hour)
	if db.Now().Equal(c.Now()) {
		t.Error("a jump back is accepted although this site has reports")
	}
}

// A daemon that was stopped for some days follows the clock at once. After a longer stop the
// clock is doubted until it has been stable.
func TestStopIsNoJump(t *testing.T) {
	for stop, doubted := range map[time.Duration]bool{
		time.Minute: false, 10 * time.Hour: false, clock.StartGap - time.Hour: false, clock.StartGap + time.Hour: true, -2 * time.Hour: true,
	} {
		c := newClocks()
		o := c.options(t.TempDir())
		db := bloomdbtest.Open(t, o)
		must(t, db.Close())
		c.Add(stop)
		c.elapsed = 0 // the machine was started again
		db = bloomdbtest.Open(t, o)
		if got := db.Clock() != nil; got != doubted {
			t.Errorf("stopped for %s: doubted %v, want %v", stop, got, doubted)
		}
	}
}

// After a stop longer than the life of a report, reports made before the clock is accepted
// expire when it is. Status announces this and the log records it. If the administrator removes
// the file with the last time, they are kept.
func TestStopLongerThanReportsLast(t *testing.T) {
	const day = 24 * time.Hour
	const announced, done = "reports made before the clock is accepted expire then", "reports made while the clock was not trusted may have expired"
	for _, tt := range []struct {
		stop    time.Duration
		removed bool // the file
		expires bool
	}{{20 * day, false, false}, {40 * day, false, true}, {40 * day, true, false}} {
		c := newClocks()
		var logged bytes.Buffer
		o := c.options(t.TempDir())
		o.Log = slog.New(slog.NewTextHandler(&logged, nil))
		db := bloomdbtest.Open(t, o)
		bloomdbtest.Report(t, db, 1)
		must(t, db.Close())
		if c.pass(tt.stop); tt.removed {
			must(t, os.Remove(filepath.Join(o.Dir, clock.File)))
		}
		c.elapsed = 0 // the machine was started again
		db = bloomdbtest.Open(t, o)
		bloomdbtest.Report(t, db, 2)
		if s := db.Clock(); s != nil && s.Expires != tt.expires || s == nil && !tt.removed {
			t.Errorf("%+v: status %+v", tt, s)
		}
		if strings.Contains(logged.String(), announced) != tt.expires || strings.Contains(logged.String(), done) {
			t.Errorf("%+v: log before:\n%s", tt, &logged)
		}
		maintainFor(t, db, c, clock.ConfirmAfter+time.Hour)
		listed(t, db, 2, !tt.expires)
		if strings.Contains(logged.String(), done) != tt.expires {
			t.Errorf("%+v: log after:\n%s", tt, &logged)
		}
	}
}
