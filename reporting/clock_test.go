package reporting

import (
	"testing"

	"github.com/spambloom/spambloom/reporting/trust"
)

// TestClockJumps: what was reported while the clock was wrong can be taken back, and what
// was taken back can be reported again. It is not so where the clock was in a later period:
// the filters of that one win until it has come.
func TestClockJumps(t *testing.T) {
	const day = 24 * 3600
	for name, jump := range map[string]int64{"a day back": -day, "three days back": -3 * day, "a day ahead": day, "a year back": -365 * day} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, trust.Default(), 3)
			m, other := letter(1, 0), letter(2, 0)
			s.report("anna", other)
			s.now.Add(jump)
			s.report("bob", m)
			s.revoke("carl", other)
			s.now.Add(-jump)
			s.revoke("dora", m)
			s.wantListed("what was taken back", m, false)
			s.now.Add(7 * day)
			s.report("emil", other)
			s.wantListed("what was reported again", other, true)
		})
	}
}
