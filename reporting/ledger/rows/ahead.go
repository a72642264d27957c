package rows

import (
	"math"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// ahead describes reports from a time when the clock was ahead.
type ahead struct {
	below uint64    // of their numbers
	at    time.Time // they were made before
}

// MadeAt returns the latest possible time of a report. If the clock was ahead, a report has a
// time in the future; then it is the time of the next report with a credible one. Otherwise
// the report would keep all later ones from expiring until that time.
func (t *Txn) MadeAt(n uint64, at, now time.Time) time.Time {
	limit := now.Add(Slack)
	if !at.After(limit) {
		return at
	}
	if n >= t.ahead.below {
		t.ahead = ahead{math.MaxUint64, now}
		c, from := t.Reports.Cursor(), buckets.NewNumber(n+1)
		for key, data := c.Seek(from[:]); len(key) == len(from); key, data = c.Next() {
			if r, err := record.DecodeReport(data); err == nil && !r.At.After(limit) {
				t.ahead = ahead{buckets.Number(key).Value(), r.At}
				break
			}
		}
	}
	return t.ahead.at
}
