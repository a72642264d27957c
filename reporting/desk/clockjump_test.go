package desk_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
)

// TestClockAheadForAMinute is the attack "clock ahead 60 days, for a minute": no report in the
// ledger expires, and reports made meanwhile can be revoked then and later.
func TestClockAheadForAMinute(t *testing.T) {
	const day = 24 * time.Hour
	for _, jump := range []time.Duration{60 * day, 8 * day, 1000 * day, -60 * day} {
		t.Run(jump.String(), func(t *testing.T) {
			var wall, elapsed atomic.Int64
			wall.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Unix())
			o := desktest.Options(t.TempDir())
			o.Now = func() time.Time { return time.Unix(wall.Load(), 0).UTC() }
			o.Elapsed = func() time.Duration { return time.Duration(elapsed.Load()) * time.Second }
			s := desktest.Open(t, o, trust.Default())
			pass := func(d time.Duration) {
				wall.Add(int64(d.Seconds()))
				elapsed.Add(int64(d.Seconds()))
			}
			before, meanwhile := desktest.Letter(1, 0), desktest.Letter(2, 0)
			s.MustReport("anna", before)
			s.MustReport("bob", before)
			kept := func() int64 {
				t.Helper()
				testenv.Check(t, s.Expire(t.Context(), desk.ExpireLooks))
				status, err := s.Ledger.Status()
				testenv.Check(t, err)
				return status.Reports
			}

			wall.Add(int64(jump.Seconds()))
			pass(time.Minute)
			if n := kept(); n != 2 {
				t.Errorf("%d reports are kept while the clock is wrong, want 2", n)
			}
			s.WantListed("what was reported before", before, true)
			s.MustReport("anna", meanwhile)
			s.WantListed("what was reported meanwhile", meanwhile, true)

			wall.Add(-int64(jump.Seconds()))
			pass(time.Minute)
			if n := kept(); n != 3 {
				t.Errorf("%d reports are kept, want 3", n)
			}
			s.WantListed("what was reported before", before, true)
			for _, name := range []string{"carl", "dora", "emil"} {
				s.MustRevoke(name, meanwhile)
			}
			s.WantListed("what was taken back", meanwhile, false)
		})
	}
}

// A daemon starts with a clock that is days ahead, which it takes for right, and the clock is corrected after some
// minutes. No report is forgotten.
func TestClockAheadAtAStart(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	s.MustReport("anna", desktest.Letter(1, 0))
	kept := func(looks int) int64 {
		t.Helper()
		testenv.Check(t, s.Expire(t.Context(), looks))
		status, err := s.Ledger.Status()
		testenv.Check(t, err)
		return status.Reports
	}
	const ahead = 6 * 7 * 24 * 3600
	s.Clock.Add(ahead)
	if n := kept(desk.ExpireLooks - 1); n != 1 {
		t.Errorf("%d reports are kept while the clock is ahead", n)
	}
	s.Clock.Add(-ahead)
	if n := kept(desk.ExpireLooks); n != 1 {
		t.Errorf("%d reports are kept after that", n)
	}
	s.Clock.Add(ahead)
	if n := kept(desk.ExpireLooks); n != 0 {
		t.Errorf("%d reports are kept when they have expired", n)
	}
}
