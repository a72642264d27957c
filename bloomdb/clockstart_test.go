package bloomdb_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// boot restarts the daemon on a machine that was off for stop. The clock is then ahead by wrong.
func (c *clocks) boot(t *testing.T, db *bloomdb.DB, o bloomdb.Options, stop, wrong time.Duration) *bloomdb.DB {
	t.Helper()
	must(t, db.Close())
	c.Add(stop + wrong)
	c.elapsed = 0
	return bloomdbtest.Open(t, o)
}

// inOrder checks that the database follows the clock.
func (c *clocks) inOrder(t *testing.T, db *bloomdb.DB) {
	t.Helper()
	if off := db.Now().Sub(c.Now()); off.Abs() > clock.MaxSkew {
		t.Errorf("the time is off by %s (%+v)", off, db.Clock())
	}
}

// On a machine whose clock is wrong at every start and corrected by a time server a minute
// later, the database has the right time afterwards: with or without restarts of the daemon
// meanwhile, and however long the machine was off.
func TestClockIsCorrectedAfterStart(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for _, wrong := range []time.Duration{2 * time.Hour, 5 * time.Hour, 14 * time.Hour, 50 * time.Hour, 100 * time.Hour, -5 * time.Hour, -14 * time.Hour} {
		for _, stop := range []time.Duration{time.Minute, 30 * time.Minute, 9 * time.Hour, 20 * time.Hour} {
			for _, restart := range []bool{false, true} {
				c := newClocks()
				o := c.options(t.TempDir())
				db := bloomdbtest.Open(t, o)
				bloomdbtest.Report(t, db, 1)
				for range 3 {
					db = c.boot(t, db, o, stop, wrong)
					maintainFor(t, db, c, time.Minute)
					if restart {
						must(t, db.Close())
						db = bloomdbtest.Open(t, o)
					}
					c.Add(-wrong)
					c.inOrder(t, db)
					listed(t, db, 1, true)
					for range 3 {
						c.pass(4 * time.Hour)
						must(t, db.Maintain())
						c.inOrder(t, db)
					}
				}
				must(t, db.Close())
				if t.Failed() {
					t.Fatalf("wrong by %s, stopped for %s, restart %v", wrong, stop, restart)
				}
			}
		}
	}
}

// Other sites reject records from the future. A site whose clock was ahead at its start
// corrects the time of its records with the clock, and other sites accept them a minute later.
func TestRecordsAfterClockAheadAtStart(t *testing.T) {
	c := newClocks()
	o := c.options(t.TempDir())
	db := bloomdbtest.Open(t, o)
	other := bloomdbtest.Options(t.TempDir(), "mx2")
	other.Now = c.Now
	odb := bloomdbtest.Open(t, other)
	db = c.boot(t, db, o, time.Minute, 5*time.Hour)
	maintainFor(t, db, c, time.Minute)
	c.Add(-5 * time.Hour)
	maintainFor(t, db, c, time.Minute)
	if _, err := odb.ReadHeartbeat(db.Heartbeat(0, 0)); err != nil {
		t.Error(err)
	}
}

// The time that a start added is uncertain for a day of running, including restarts. Until then
// the clock may be set back within it. Afterwards, or when another site has confirmed the time,
// that is a jump. A clock that is set back further is doubted at once.
func TestGuessOfStart(t *testing.T) {
	const stop = 10 * time.Hour
	for _, test := range []struct {
		name    string
		ran     time.Duration
		restart bool
		confirm bool
		back    time.Duration
		doubted bool
	}{
		{name: "at once", back: stop},
		{name: "a part", ran: time.Hour, back: stop / 2},
		{name: "after 23 hours", ran: 23 * time.Hour, back: stop},
		{name: "after 23 hours and a restart", ran: 23 * time.Hour, restart: true, back: stop},
		{name: "after 25 hours", ran: 25 * time.Hour, back: stop, doubted: true},
		{name: "after 25 hours and a restart", ran: 25 * time.Hour, restart: true, back: stop, doubted: true},
		{name: "further back", ran: time.Hour, back: stop + 2*time.Hour, doubted: true},
		{name: "confirmed by a site", confirm: true, back: stop, doubted: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClocks()
			o := c.options(t.TempDir())
			db := bloomdbtest.Open(t, o)
			bloomdbtest.Report(t, db, 1)
			db = c.boot(t, db, o, stop, 0)
			for range test.ran / time.Hour {
				if c.pass(time.Hour); test.restart {
					must(t, db.Close())
					db = bloomdbtest.Open(t, o)
				}
				must(t, db.Maintain())
			}
			if test.confirm {
				other := bloomdbtest.Options(t.TempDir(), "mx2")
				other.Now = c.Now
				if _, err := db.ReadHeartbeat(bloomdbtest.Open(t, other).Heartbeat(0, 0)); err != nil {
					t.Fatal(err)
				}
			}
			c.Add(-test.back)
			if got := db.Clock() != nil; got != test.doubted {
				t.Errorf("doubted %v, want %v", got, test.doubted)
			}
		})
	}
}

// A clock that jumps ahead an hour or more after the start is doubted, because the jump cannot
// be explained by the stop.
func TestClockAheadLongAfterStart(t *testing.T) {
	for ran, doubted := range map[time.Duration]bool{time.Minute: false, clock.SettleAfter + time.Minute: true} {
		c := newClocks()
		o := c.options(t.TempDir())
		db := bloomdbtest.Open(t, o)
		bloomdbtest.Report(t, db, 1)
		db = c.boot(t, db, o, time.Minute, 0)
		maintainFor(t, db, c, ran)
		c.Add(10 * time.Hour)
		if got := db.Clock() != nil; got != doubted {
			t.Errorf("after %s: doubted %v, want %v", ran, got, doubted)
		}
	}
}

// A first start with a wrong clock that is corrected a minute later has no effect: reports made
// after that have the right time. This ends with the first report.
func TestNewFolderFollowsTheClock(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for _, wrong := range []time.Duration{-60 * 24 * time.Hour, -5 * time.Hour, 5 * time.Hour, 60 * 24 * time.Hour} {
		c := newClocks()
		o := c.options(t.TempDir())
		c.Add(wrong)
		db := bloomdbtest.Open(t, o)
		bloomdbtest.Count(t, db, 1, 1)
		maintainFor(t, db, c, time.Minute)
		c.Add(-wrong)
		maintainFor(t, db, c, time.Minute)
		bloomdbtest.Report(t, db, 2)
		c.inOrder(t, db)
		for range 26 {
			maintainFor(t, db, c, time.Hour)
			listed(t, db, 2, true)
		}
		c.Add(-wrong)
		if db.Clock() == nil {
			t.Errorf("a jump of %s is believed although there are reports", -wrong)
		}
	}
}

// Without reports, the clock is followed only for the first day of running, and only if no last
// time is on disk.
func TestNewFolderIsNewForADay(t *testing.T) {
	for _, restart := range []bool{false, true} {
		c := newClocks()
		o := c.options(t.TempDir())
		db := bloomdbtest.Open(t, o)
		if restart {
			must(t, db.Close())
			db = bloomdbtest.Open(t, o)
		} else {
			maintainFor(t, db, c, clock.ConfirmAfter+time.Minute)
		}
		c.Add(60 * 24 * time.Hour)
		if db.Clock() == nil {
			t.Errorf("believed (restart %v)", restart)
		}
	}
}

// If the last time is removed while the daemon is stopped, the clock is believed, and the
// reports are kept.
func TestWithoutLastTime(t *testing.T) {
	c := newClocks()
	o := c.options(t.TempDir())
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	c.Add(-5 * time.Hour)
	if db.Clock() == nil {
		t.Error("believed")
	}
	must(t, db.Close())
	must(t, os.Remove(filepath.Join(o.Dir, clock.File)))
	db = bloomdbtest.Open(t, o)
	c.inOrder(t, db)
	listed(t, db, 1, true)
	c.Add(60 * 24 * time.Hour)
	if db.Clock() == nil {
		t.Error("a jump is believed although there are reports")
	}
}

// A clock that is ahead at a start, over the end of the period, is believed. Once it is corrected, ten minutes
// later, the site publishes the votes of before again, also after another restart meanwhile.
func TestVotesAfterClockAheadAtStart(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for _, restart := range []bool{false, true} {
		c := newClocks()
		o := c.options(t.TempDir())
		here := listener(t, c.Clock, "mx1")
		period := bloomdbtest.SettingsOf(here).Reports.Period
		end := layout.Target{Gen: bloomdbtest.SettingsOf(here).Generation(layout.SpamFilter, c.Now()) + 1}
		c.Add(bloomdbtest.SettingsOf(here).Start(end).Add(-50 * time.Hour).Sub(c.Now()))
		db := bloomdbtest.Open(t, o)
		bloomdbtest.Report(t, db, 1) // of the period before the current one, which is published, too
		c.pass(period)
		maintainFor(t, db, c, time.Minute)
		bloomdbtest.Report(t, db, 2)

		db = c.boot(t, db, o, time.Minute, 70*time.Hour)
		maintainFor(t, db, c, 15*time.Minute)
		if restart {
			must(t, db.Close())
			db = bloomdbtest.Open(t, o)
			maintainFor(t, db, c, 15*time.Minute)
		}
		c.Add(-70 * time.Hour)
		c.inOrder(t, db)
		maintainFor(t, db, c, 15*time.Minute)
		bloomdbtest.Report(t, db, 3)
		mustApplyVotes(t, here, db)
		for n, want := range []int{0, 1, 1, 1} {
			if got := here.Judge(bloomdbtest.Message(n)).Votes; got != want {
				t.Errorf("restart %v, message %d: %d votes, want %d", restart, n, got, want)
			}
		}
		// One filter is kept beside those of this period and the previous one.
		c.pass(period)
		maintainFor(t, db, c, 15*time.Minute)
		if got := db.Status().Votes.Memory; got != 2*512<<10 {
			t.Errorf("restart %v: own votes take %d bytes, want %d", restart, got, 2*512<<10)
		}
	}
}
