package status

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/overview"
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

// The details of filters put the chance of a site's false matches in words, as the list of sites
// does. A share of all of them would be 100 % at a site with few reports, which is no fault.
func TestStatusNamesFalseMatches(t *testing.T) {
	s := api.Status{Overview: &overview.Overview{}, Database: bloomdb.Status{Sites: []bloomdb.SiteStatus{{Site: "mx1"}, {Site: "mx2", Error: 4.3e-7, ErrorShare: 1}}}}
	text := statusText(s, time.Now(), withFilters)
	if !regexp.MustCompile(`(?m)^SITE +EPOCH +LAST DELTA +CELLS +FALSE MATCH +MISSED DELTAS\nmx1 +0 +0 +0 +none +0\nmx2 +0 +0 +0 +1 in 2.3 million +0$`).MatchString(text) {
		t.Errorf("no chances in\n%s", text)
	}
}
