package status

import (
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
)

// Damage and a jump of the clock have their own lines; a healthy daemon shows neither.
func TestStatusNamesDamageAndClock(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	healthy := statusText(api.Status{}, now, todayOnly)
	for _, word := range []string{"damaged", "clock"} {
		if strings.Contains(healthy, word) {
			t.Errorf("%q in the status of a healthy daemon:\n%s", word, healthy)
		}
	}
	for ahead, want := range map[float64]string{60 * 86400: "1440h0m0s ahead since", -7200: "2h0m0s behind since"} {
		text := statusText(api.Status{Database: bloomdb.Status{
			Damaged:  []bloomdb.DamagedFile{{Name: "own-7.votes.damaged", Cost: "votes"}},
			Previous: &bloomdb.Status{Damaged: []bloomdb.DamagedFile{{Name: "spam-7.mask.damaged", Cost: "retouched messages"}}},
			Clock:    &bloomdb.ClockStatus{Time: now, Ahead: ahead, Since: now, Believed: now.Add(24 * time.Hour)},
		}}, now, todayOnly)
		for _, want := range []string{want, "own-7.votes.damaged is not used; missing: votes", "spam-7.mask.damaged"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
}
