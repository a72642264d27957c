package bloomdb_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/clock"
)

// After hours of suspend, a machine has the right time at once: the wall clock has advanced by
// as much as the clock since boot.
func TestSuspend(t *testing.T) {
	for name, counted := range map[string]bool{"counted": true, "not counted": false} {
		synctest.Test(t, func(t *testing.T) {
			asleep := time.Duration(0)
			start := time.Now()
			o := small(ramDir(t))
			o.Now = func() time.Time { return time.Now().Add(asleep) }
			o.Elapsed = clock.NewElapsed(func() time.Duration {
				if !counted {
					return 0
				}
				return time.Since(start) + asleep
			})
			db := bloomdbtest.Open(t, o)
			bloomdbtest.Report(t, db, 1)
			time.Sleep(time.Hour)
			asleep = 9 * time.Hour
			time.Sleep(time.Second)
			if (db.Clock() == nil) != counted {
				t.Errorf("%s: the clock's status is %+v", name, db.Clock())
			}
			if want := o.Now(); counted && !db.Now().Equal(want) {
				t.Errorf("%s: it is %s, want %s", name, db.Now(), want)
			}
		})
	}
}
