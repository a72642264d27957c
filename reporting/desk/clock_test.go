package desk_test

import (
	"testing"

	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
)

// TestClockJumps: a report made while the clock was wrong can be revoked, and a revoked message
// can be reported again. The exception is a clock that was in a later period: the filters of
// that period win until it begins.
func TestClockJumps(t *testing.T) {
	const day = 24 * 3600
	for name, jump := range map[string]int64{"a day back": -day, "three days back": -3 * day, "a day ahead": day, "a year back": -365 * day} {
		t.Run(name, func(t *testing.T) {
			s := desktest.New(t, trust.Default(), 3)
			m, other := desktest.Letter(1, 0), desktest.Letter(2, 0)
			s.MustReport("anna", other)
			s.Clock.Add(jump)
			s.MustReport("bob", m)
			s.MustRevoke("carl", other)
			s.Clock.Add(-jump)
			s.MustRevoke("dora", m)
			s.WantListed("what was taken back", m, false)
			s.Clock.Add(7 * day)
			s.MustReport("emil", other)
			s.WantListed("what was reported again", other, true)
		})
	}
}
