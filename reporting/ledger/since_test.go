package ledger

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/trust"
)

// Reports and contested messages since a time are found also behind words that were made while the clock was
// days behind.
func TestSinceBehindAClockThatWasBehind(t *testing.T) {
	v := voice{t: t, l: open(t, trust.Default()), at: begin}
	v.say(Spam, "anna", message(1, 1))
	v.say(Ham, "berta", message(1, 1))
	v.say(Spam, "anna", message(2, 2))
	v.at = begin.Add(-10 * 24 * time.Hour)
	for i := range 40 {
		v.say(Spam, "dora", message(i+3, i+3))
	}
	v.at = begin.Add(48 * time.Hour)
	v.say(Spam, "anna", message(100, 100))
	for _, c := range []struct {
		q                  Query
		reports, contested int
	}{
		{Query{Since: begin.Add(-time.Hour), Limit: 50}, 4, 1},
		{Query{Since: begin.Add(-time.Hour), Before: 20, Limit: 50}, 3, 1},
		{Query{Since: begin.Add(time.Hour), Limit: 50}, 1, 0},
	} {
		list, next, err := v.l.Reports(c.q)
		testenv.Check(t, err)
		contested, _, err := v.l.Contested(c.q)
		testenv.Check(t, err)
		if len(list) != c.reports || len(contested) != c.contested || next != 0 {
			t.Errorf("%+v: %d reports, %d contested, next %d; want %d, %d", c.q, len(list), len(contested), next, c.reports, c.contested)
		}
	}
}
