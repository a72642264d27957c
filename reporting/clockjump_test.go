package reporting

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/trust"
)

// TestClockAheadForAMinute is the attack "clock ahead 60 days, for a minute": the ledger
// forgets nothing, and what is reported meanwhile can be taken back, then and later.
func TestClockAheadForAMinute(t *testing.T) {
	const day = 24 * time.Hour
	for _, jump := range []time.Duration{60 * day, 8 * day, 1000 * day, -60 * day} {
		t.Run(jump.String(), func(t *testing.T) {
			var wall, elapsed atomic.Int64
			wall.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Unix())
			o := smallOptions(t.TempDir())
			o.Now = func() time.Time { return time.Unix(wall.Load(), 0).UTC() }
			o.Elapsed = func() time.Duration { return time.Duration(elapsed.Load()) * time.Second }
			db, err := bloomdb.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := errors.Join(db.Check(), db.Close()); err != nil {
					t.Error(err)
				}
			})
			s := &stage{t: t, Desk: NewDesk(db, openLedger(t, trust.Default()), DeskOptions{})}
			pass := func(d time.Duration) {
				wall.Add(int64(d.Seconds()))
				elapsed.Add(int64(d.Seconds()))
			}
			before, meanwhile := letter(1, 0), letter(2, 0)
			s.report("anna", before)
			s.report("bob", before)
			kept := func() int64 {
				t.Helper()
				if err := s.expire(t.Context()); err != nil {
					t.Fatal(err)
				}
				status, err := s.ledger.Status()
				if err != nil {
					t.Fatal(err)
				}
				return status.Reports
			}

			wall.Add(int64(jump.Seconds()))
			pass(time.Minute)
			if n := kept(); n != 2 {
				t.Errorf("%d reports are kept while the clock is wrong, want 2", n)
			}
			s.wantListed("what was reported before", before, true)
			s.report("anna", meanwhile)
			s.wantListed("what was reported meanwhile", meanwhile, true)

			wall.Add(-int64(jump.Seconds()))
			pass(time.Minute)
			if n := kept(); n != 3 {
				t.Errorf("%d reports are kept, want 3", n)
			}
			s.wantListed("what was reported before", before, true)
			for _, name := range []string{"carl", "dora", "emil"} {
				s.revoke(name, meanwhile)
			}
			s.wantListed("what was taken back", meanwhile, false)
		})
	}
}
