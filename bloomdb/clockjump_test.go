package bloomdb_test

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The clock jumps, and the daemon runs and restarts both with the wrong clock and with the right
// one. Earlier reports are still known. Reports made meanwhile are known if their period is
// kept. Every file in the folder is valid. Revocations made meanwhile remain in force, because a
// revocation is also written to later periods.
func TestClockJumpsOverRestarts(t *testing.T) {
	const day = 24 * time.Hour
	for _, test := range []struct {
		jump time.Duration
		kept bool // reports made during the jump are known once the clock is right
	}{
		{time.Hour, true}, {-day, true},
		{8 * day, true}, {-8 * day, true},
		{400 * day, true}, {-400 * day, false},
	} {
		t.Run(test.jump.String(), func(t *testing.T) {
			c := bloomdbtest.NewClock()
			o := bloomdbtest.Options(t.TempDir(), "mx1")
			o.Now, o.Counts.Burst = c.Now, 10*time.Minute
			db := bloomdbtest.Open(t, o)
			again := func() {
				t.Helper()
				for range 3 {
					testenv.Check(t, db.Maintain())
				}
				if s := db.Status(); s.Error != "" {
					t.Errorf("status: %s", s.Error)
				}
				testenv.Check(t, db.Close())
				db = bloomdbtest.Open(t, o)
			}
			bloomdbtest.Report(t, db, 1)
			bloomdbtest.Report(t, db, 2)
			bloomdbtest.Count(t, db, 3, 5)
			again()

			c.Add(test.jump)
			bloomdbtest.Report(t, db, 4)
			bloomdbtest.Revoke(t, db, 2)
			bloomdbtest.Count(t, db, 3, 1)
			listed(t, db, 4, true)
			listed(t, db, 2, false)
			if n := db.Judge(bloomdbtest.Message(3)).Count; n < 1 || n > 6 {
				t.Errorf("counted %d times, should be 1 to 6", n)
			}
			again()
			listed(t, db, 4, true)

			c.Add(-test.jump)
			again()
			listed(t, db, 1, true)
			listed(t, db, 4, test.kept)
			if n := db.Judge(bloomdbtest.Message(3)).Count; n < 5 || n > 6 {
				t.Errorf("counted %d times in the end, should be 5 or 6", n)
			}
			listed(t, db, 2, false)
			listed(t, db, 9, false)
		})
	}
}

// A message is reported and revoked, and the clock goes back, or the database's own time does, because
// an older file clock was put back. A report made then counts at once, and again when its time has
// come. A message that nobody revoked is not listed in the later period for longer.
func TestReportOfRevokedAfterClockWentBack(t *testing.T) {
	const back = 21 * 24 * time.Hour
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	bloomdbtest.Revoke(t, db, 1)
	bloomdbtest.Report(t, db, 2)

	c.Add(-back)
	listed(t, db, 1, false)
	bloomdbtest.Report(t, db, 1)
	bloomdbtest.Report(t, db, 3)
	listed(t, db, 1, true)
	bloomdbtest.Revoke(t, db, 1)
	listed(t, db, 1, false)
	bloomdbtest.Report(t, db, 1)
	testenv.Check(t, db.Close())
	db = bloomdbtest.Open(t, o)
	listed(t, db, 1, true)

	c.Add(back)
	listed(t, db, 1, true)
	c.Add(14 * 24 * time.Hour) // the period in which 3 was reported has expired
	for range 3 {
		testenv.Check(t, db.Maintain())
	}
	listed(t, db, 2, true)
	listed(t, db, 3, false)
}
